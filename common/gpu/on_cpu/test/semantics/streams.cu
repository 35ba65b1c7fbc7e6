// Streams and events: what comes after what.
#include <algorithm>
#include <cuda/atomic>
#include <thread>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace streams {

constexpr int count = 1000;

__global__ void set(int* all, int value) {
  for (int i = thread_in_grid(); i < count; i += gridDim.x * blockDim.x) all[i] = value;
}
__global__ void add(const int* from, int* to, int value) {
  for (int i = thread_in_grid(); i < count; i += gridDim.x * blockDim.x) to[i] = from[i] + value;
}

using Flag = cuda::atomic_ref<int, cuda::thread_scope_system>;
__global__ void raise(int* flag) { Flag(*flag).store(1, cuda::memory_order_release); }
__global__ void wait_for(int* flag) {
  while (Flag(*flag).load(cuda::memory_order_acquire) == 0) __nanosleep(1000);
}

/// Runs each kernel once. CUDA loads a kernel at its first launch, and may wait for those that run.
void load_kernels(int* flag, int* other) {
  raise<<<1, 1>>>(flag);
  wait_for<<<1, 1>>>(flag);
  set<<<1, 1>>>(other, 0);
  add<<<1, 1>>>(other, other, 0);
  set<<<1, 1>>>(flag, 0);
  CHECK_CUDA(cudaDeviceSynchronize());
}

class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamDefault) { CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, flags)); }
  Stream(unsigned flags, int priority) { CHECK_CUDA(cudaStreamCreateWithPriority(&stream_, flags, priority)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) { CHECK_CUDA(cudaEventCreateWithFlags(&event_, flags)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Device memory that starts as zeros, whatever the streams do later.
DeviceBuffer<int> zeros() {
  DeviceBuffer<int> buffer(count);
  CHECK_CUDA(cudaMemset(buffer.data(), 0, buffer.bytes()));
  CHECK_CUDA(cudaDeviceSynchronize());
  return buffer;
}

#define EXPECT_ALL(buffer, value) EXPECT_EQ(to_host(buffer), std::vector<int>(count, value))

TEST(Streams, WorkRunsInOrder) {
  Stream stream;
  auto a = zeros();
  for (int i = 0; i < 20; ++i) add<<<1, 64, 0, stream>>>(a.data(), a.data(), 1);
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_ALL(a, 20);
}

TEST(Streams, TheDefaultStreamAndOthersWaitForEachOther) {
  Stream first, second;
  auto a = zeros(), b = zeros(), c = zeros(), d = zeros();
  for (int i = 1; i <= 5; ++i) {
    set<<<1, 64, 0, first>>>(a.data(), i);
    add<<<1, 64>>>(a.data(), b.data(), 10);
    add<<<1, 64, 0, second>>>(b.data(), c.data(), 100);
    CHECK_CUDA(cudaMemcpyAsync(d.data(), c.data(), c.bytes(), cudaMemcpyDeviceToDevice, nullptr));
  }
  EXPECT_ALL(d, 115);
}

TEST(Streams, NonBlockingOnesWaitForEvents) {
  Stream first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
  Event set_done, add_done;
  auto a = zeros(), b = zeros();
  for (int i = 1; i <= 5; ++i) {
    set<<<1, 64, 0, first>>>(a.data(), i);
    CHECK_CUDA(cudaEventRecord(set_done, first));
    CHECK_CUDA(cudaStreamWaitEvent(second, set_done));
    add<<<1, 64, 0, second>>>(a.data(), b.data(), 10);
    CHECK_CUDA(cudaEventRecord(add_done, second));
    CHECK_CUDA(cudaStreamWaitEvent(first, add_done));
  }
  CHECK_CUDA(cudaDeviceSynchronize());
  EXPECT_ALL(b, 15);
}

TEST(Streams, AWaitIsWorkToo) {
  Stream producer(cudaStreamNonBlocking), waiter(cudaStreamNonBlocking);
  Event done;
  int* pinned = nullptr;
  CHECK_CUDA(cudaMallocHost(&pinned, count * sizeof(int)));
  const auto wait_and_expect = [&](int value, auto synchronise) {
    set<<<1, 64, 0, producer>>>(pinned, value);
    CHECK_CUDA(cudaEventRecord(done, producer));
    CHECK_CUDA(cudaStreamWaitEvent(waiter, done));
    synchronise();
    EXPECT_EQ(pinned[count - 1], value);
  };
  wait_and_expect(1, [&] { CHECK_CUDA(cudaStreamSynchronize(waiter)); });
  wait_and_expect(2, [&] {
    while (cudaStreamQuery(waiter) == cudaErrorNotReady) {
    }
  });
  Event later;
  wait_and_expect(3, [&] {
    CHECK_CUDA(cudaEventRecord(later, waiter));
    CHECK_CUDA(cudaEventSynchronize(later));
  });
  CHECK_CUDA(cudaFreeHost(pinned));
}

TEST(Events, AWaitMeansTheRecordBeforeIt) {
  Stream first, second;
  Event event, back;
  auto a = zeros(), b = zeros(), c = zeros();
  set<<<1, 64, 0, first>>>(a.data(), 1);
  CHECK_CUDA(cudaEventRecord(event, first));
  CHECK_CUDA(cudaStreamWaitEvent(second, event));
  add<<<1, 64, 0, second>>>(a.data(), b.data(), 10);  // sees 1: `first` waits before it writes again
  CHECK_CUDA(cudaEventRecord(back, second));
  CHECK_CUDA(cudaStreamWaitEvent(first, back));
  set<<<1, 64, 0, first>>>(a.data(), 2);
  CHECK_CUDA(cudaEventRecord(event, first));  // the same event again: the wait above still means its first record
  CHECK_CUDA(cudaStreamWaitEvent(second, event));
  add<<<1, 64, 0, second>>>(a.data(), c.data(), 10);
  CHECK_CUDA(cudaStreamSynchronize(second));
  EXPECT_ALL(b, 11);
  EXPECT_ALL(c, 12);
}

TEST(Events, SynchroniseWithTheirLastRecord) {
  Stream stream;
  Event event;
  int* pinned = nullptr;
  CHECK_CUDA(cudaMallocHost(&pinned, count * sizeof(int)));
  for (int i = 1; i <= 3; ++i) {
    set<<<1, 64, 0, stream>>>(pinned, i);
    CHECK_CUDA(cudaEventRecord(event, stream));
  }
  CHECK_CUDA(cudaEventSynchronize(event));
  EXPECT_EQ(pinned[7], 3);
  CHECK_CUDA(cudaFreeHost(pinned));
}

TEST(Events, WithoutARecordHoldNothingUp) {
  Stream stream;
  Event event;
  auto a = zeros();
  CHECK_CUDA(cudaStreamWaitEvent(stream, event));
  CHECK_CUDA(cudaEventQuery(event));
  CHECK_CUDA(cudaEventSynchronize(event));
  set<<<1, 64, 0, stream>>>(a.data(), 1);
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_ALL(a, 1);
}

TEST(Events, MayBeDestroyedWhileTheyArePending) {
  Stream first, second;
  auto a = zeros();
  for (int i = 1; i <= 3; ++i) {
    cudaEvent_t event;
    CHECK_CUDA(cudaEventCreate(&event));
    set<<<1, 64, 0, first>>>(a.data(), i);
    CHECK_CUDA(cudaEventRecord(event, first));
    CHECK_CUDA(cudaStreamWaitEvent(second, event));
    CHECK_CUDA(cudaEventRecord(event, second));
    CHECK_CUDA(cudaEventDestroy(event));
  }
  add<<<1, 64, 0, second>>>(a.data(), a.data(), 10);
  CHECK_CUDA(cudaDeviceSynchronize());
  EXPECT_ALL(a, 13);
}

TEST(Events, MeasureTime) {
  Stream stream, other;
  Event start, stop, never, untimed(cudaEventDisableTiming);
  auto a = zeros();
  CHECK_CUDA(cudaEventRecord(stop, other));  // an old record of stop, in another stream, means nothing
  CHECK_CUDA(cudaEventRecord(start, stream));
  set<<<1, 64, 0, stream>>>(a.data(), 1);
  CHECK_CUDA(cudaEventRecord(stop, stream));
  CHECK_CUDA(cudaEventRecord(untimed, stream));
  CHECK_CUDA(cudaEventSynchronize(stop));
  float milliseconds = -1;
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
  EXPECT_GT(milliseconds, 0);
  EXPECT_LT(milliseconds, 10000);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, never), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST(Streams, QueriesMakeProgress) {
  Stream stream;
  Event event;
  auto a = zeros();
  for (int i = 0; i < 10; ++i) add<<<1, 64, 0, stream>>>(a.data(), a.data(), 1);
  CHECK_CUDA(cudaEventRecord(event, stream));
  while (cudaEventQuery(event) == cudaErrorNotReady) {
  }
  CHECK_CUDA(cudaEventQuery(event));
  for (int i = 0; i < 10; ++i) add<<<1, 64, 0, stream>>>(a.data(), a.data(), 1);
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
  }
  CHECK_CUDA(cudaStreamQuery(stream));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "not ready is no error to remember";
  EXPECT_ALL(a, 20);
}

TEST(Streams, DestroyedOnesFinishTheirWork) {
  auto a = zeros();
  {
    Stream stream(cudaStreamNonBlocking);
    for (int i = 0; i < 10; ++i) add<<<1, 64, 0, stream>>>(a.data(), a.data(), 1);
  }
  CHECK_CUDA(cudaDeviceSynchronize());
  EXPECT_ALL(a, 10);
}

TEST(Streams, CallHostFunctionsInOrder) {
  Stream stream;
  int* pinned = nullptr;
  CHECK_CUDA(cudaMallocHost(&pinned, count * sizeof(int)));
  struct Look {
    const int* at;
    int seen;
  } look = {pinned, 0};
  set<<<1, 64, 0, stream>>>(pinned, 5);
  CHECK_CUDA(cudaLaunchHostFunc(
      stream, [](void* argument) { static_cast<Look*>(argument)->seen = *static_cast<Look*>(argument)->at; }, &look));
  set<<<1, 64, 0, stream>>>(pinned, 6);
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(look.seen, 5);
  EXPECT_EQ(*pinned, 6);
  CHECK_CUDA(cudaFreeHost(pinned));
}

TEST(Streams, HavePriorities) {
  int least = -1, greatest = 1, priority = 1;
  CHECK_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LE(greatest, least) << "the smaller number comes first";
  for (int wish = greatest - 2; wish <= least + 2; ++wish) {
    const Stream stream(cudaStreamNonBlocking, wish);
    CHECK_CUDA(cudaStreamGetPriority(stream, &priority));
    EXPECT_EQ(priority, std::clamp(wish, greatest, least));
  }
  const Stream stream;
  for (const cudaStream_t one : {cudaStream_t(stream), cudaStream_t(nullptr)}) {
    CHECK_CUDA(cudaStreamGetPriority(one, &priority));
    EXPECT_EQ(priority, 0);
  }
  cudaStream_t none;
  EXPECT_EQ(cudaStreamCreateWithPriority(&none, 17, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

/// A kernel waits for one that is launched after it, in another stream.
TEST(Streams, AWaitingKernelHoldsOnlyItsOwnUp) {
  const Stream waiter(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  const Event waited;
  auto flag = zeros(), a = zeros(), b = zeros();
  load_kernels(flag.data(), a.data());
  wait_for<<<1, 1, 0, waiter>>>(flag.data());
  add<<<1, 64, 0, waiter>>>(a.data(), b.data(), 10);
  CHECK_CUDA(cudaEventRecord(waited, waiter));
  set<<<3, 64, 0, other>>>(a.data(), 1);
  CHECK_CUDA(cudaStreamSynchronize(other));
  EXPECT_EQ(cudaEventQuery(waited), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(waiter), cudaErrorNotReady);
  raise<<<1, 1, 0, other>>>(flag.data());
  CHECK_CUDA(cudaEventSynchronize(waited));
  CHECK_CUDA(cudaStreamQuery(waiter));
  EXPECT_ALL(b, 11);
}

TEST(Streams, ManyKernelsMayWaitAtOnce) {
  constexpr int waiters = 3;
  const std::vector<Stream> streams(waiters);
  auto flags = zeros(), others = zeros();
  load_kernels(flags.data(), others.data());
  const Stream last(cudaStreamNonBlocking);
  for (int i = 0; i < waiters; ++i) {  // each lets the next one go
    wait_for<<<1, 1, 0, streams[i]>>>(flags.data() + i);
    raise<<<1, 1, 0, streams[i]>>>(flags.data() + i + 1);
  }
  raise<<<1, 1, 0, last>>>(flags.data());
  for (const Stream& stream : streams) CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(to_host(flags), generate(count, [](int i) { return i <= waiters ? 1 : 0; }));
}

TEST(Streams, ServeSeveralHostThreads) {
  constexpr int host_threads = 4;
  std::vector<DeviceBuffer<int>> buffers;
  for (int t = 0; t < host_threads; ++t) buffers.push_back(zeros());
  std::vector<std::thread> all;
  for (int t = 0; t < host_threads; ++t)
    all.emplace_back([&a = buffers[t], t] {
      Stream stream;
      for (int i = 0; i < 50; ++i) add<<<3, 64, 0, stream>>>(a.data(), a.data(), t);
      CHECK_CUDA(cudaStreamSynchronize(stream));
    });
  for (std::thread& thread : all) thread.join();
  for (int t = 0; t < host_threads; ++t) EXPECT_ALL(buffers[t], 50 * t);
}

}  // namespace streams
}  // namespace psflip::PSFLIP_PLATFORM
