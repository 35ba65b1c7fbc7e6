// Graphs: what a stream captures is done when the graph is launched, each time again.
#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace graphs {

constexpr int count = 100;

__global__ void add(int* values, int amount) { values[threadIdx.x] += amount; }
__global__ void multiply(int* values, int factor) { values[threadIdx.x] *= factor; }

class Graphs : public testing::Test {
 protected:
  void SetUp() override { CHECK_CUDA(cudaStreamCreate(&stream)); }
  void TearDown() override { CHECK_CUDA(cudaStreamDestroy(stream)); }

  cudaStreamCaptureStatus status() const {
    cudaStreamCaptureStatus now = cudaStreamCaptureStatusInvalidated;
    CHECK_CUDA(cudaStreamIsCapturing(stream, &now));
    return now;
  }
  /// What `work()` puts into the stream, ready to be launched.
  template <class Work>
  cudaGraphExec_t captured(Work work) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    work();
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&executable, graph));
    CHECK_CUDA(cudaGraphDestroy(graph));  // the executable has a copy
    return executable;
  }

  cudaStream_t stream;
};

TEST_F(Graphs, DoTheirWorkWhenTheyAreLaunched) {
  auto values = to_device(std::vector<int>(count, 1));
  const cudaGraphExec_t graph = captured([&] {
    EXPECT_EQ(status(), cudaStreamCaptureStatusActive);
    add<<<1, count, 0, stream>>>(values.data(), 2);
    multiply<<<1, count, 0, stream>>>(values.data(), 3);
  });
  EXPECT_EQ(status(), cudaStreamCaptureStatusNone);
  EXPECT_EQ(to_host(values), std::vector<int>(count, 1)) << "captured is not done";
  int expected = 1;
  for (int launch = 0; launch < 3; ++launch) {
    CHECK_CUDA(cudaGraphLaunch(graph, stream));
    add<<<1, count, 0, stream>>>(values.data(), 1);
    expected = (expected + 2) * 3 + 1;
  }
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(to_host(values), std::vector<int>(count, expected));
  CHECK_CUDA(cudaGraphExecDestroy(graph));
}

TEST_F(Graphs, HoldCopiesAndFillings) {
  const std::size_t bytes = count * sizeof(int);
  auto values = to_device(std::vector<int>(count, 5));
  DeviceBuffer<int> other(count);
  int *in, *out;
  CHECK_CUDA(cudaMallocHost(&in, bytes));
  CHECK_CUDA(cudaMallocHost(&out, bytes));
  const cudaGraphExec_t graph = captured([&] {
    CHECK_CUDA(cudaMemsetAsync(values.data(), 0, bytes, stream));
    CHECK_CUDA(cudaMemcpyAsync(other.data(), in, bytes, cudaMemcpyHostToDevice, stream));
    add<<<1, count, 0, stream>>>(other.data(), 10);
    CHECK_CUDA(cudaMemcpyAsync(values.data(), other.data(), bytes / 2, cudaMemcpyDeviceToDevice, stream));
    CHECK_CUDA(cudaMemcpyAsync(out, values.data(), bytes, cudaMemcpyDeviceToHost, stream));
  });
  for (int launch = 0; launch < 2; ++launch) {
    for (int i = 0; i < count; ++i) in[i] = i * (launch + 1);  // read when the graph runs
    CHECK_CUDA(cudaGraphLaunch(graph, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    EXPECT_EQ(std::vector<int>(out, out + count),
              generate(count, [=](int i) { return i < count / 2 ? i * (launch + 1) + 10 : 0; }));
  }
  CHECK_CUDA(cudaGraphExecDestroy(graph));
  CHECK_CUDA(cudaFreeHost(in));
  CHECK_CUDA(cudaFreeHost(out));
}

TEST_F(Graphs, KeepTheArgumentsOfTheirCapture) {
  DeviceBuffer<int> values(count);
  CHECK_CUDA(cudaMemset(values.data(), 0, values.bytes()));
  CHECK_CUDA(cudaDeviceSynchronize());
  int amount = 4;
  const cudaGraphExec_t graph = captured([&] {
    for (; amount < 8; ++amount) add<<<1, count, 0, stream>>>(values.data(), amount);
  });
  amount = 1000;
  CHECK_CUDA(cudaGraphLaunch(graph, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(to_host(values), std::vector<int>(count, 4 + 5 + 6 + 7));
  CHECK_CUDA(cudaGraphExecDestroy(graph));
}

TEST_F(Graphs, RunInAnyStreamInItsOrder) {
  auto values = to_device(std::vector<int>(count, 1));
  const cudaGraphExec_t graph = captured([&] { multiply<<<1, count, 0, stream>>>(values.data(), 7); });
  cudaStream_t other;
  cudaEvent_t done;
  CHECK_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK_CUDA(cudaEventCreate(&done));
  add<<<1, count, 0, other>>>(values.data(), 2);
  CHECK_CUDA(cudaGraphLaunch(graph, other));
  CHECK_CUDA(cudaEventRecord(done, other));
  CHECK_CUDA(cudaStreamWaitEvent(stream, done));
  add<<<1, count, 0, stream>>>(values.data(), 1);
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(to_host(values), std::vector<int>(count, 22));
  CHECK_CUDA(cudaGraphExecDestroy(graph));
  CHECK_CUDA(cudaEventDestroy(done));
  CHECK_CUDA(cudaStreamDestroy(other));
}

TEST_F(Graphs, AreSpoiltByWhoWaitsForTheirCapture) {
  cudaGraph_t graph;
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(status(), cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(status(), cudaStreamCaptureStatusNone);
  cudaGetLastError();
}

TEST_F(Graphs, RefuseTheDefaultStreamMeanwhile) {
  DeviceBuffer<int> values(count);
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal), cudaErrorStreamCaptureUnsupported);
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGetLastError();
  add<<<1, count>>>(values.data(), 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_NE(cudaStreamEndCapture(stream, &graph), cudaSuccess) << "it has ended";
  cudaGetLastError();
}

}  // namespace graphs
}  // namespace psflip::PSFLIP_PLATFORM
