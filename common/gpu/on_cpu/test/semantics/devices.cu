// Several devices: each has its own memory, streams and __constant__ variables.
#include <cstdio>
#include <cstring>
#include <thread>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace devices {

constexpr int count = 100;

__constant__ int number = 5;

__global__ void fill(int* out, int value) { out[threadIdx.x] = value; }
__global__ void add(const int* in, int* out, int value) { out[threadIdx.x] = in[threadIdx.x] + value; }
__global__ void read_number(int* out) { *out = number; }

class Devices : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    CHECK_CUDA(cudaGetDeviceCount(&devices));
    if (devices < 2) GTEST_SKIP() << "needs two devices";
  }
  void TearDown() override {
    CHECK_CUDA(cudaSetDevice(0));
    CHECK_CUDA(cudaGetLastError());
  }
};

DeviceBuffer<int> zeros_on(int device) {
  CHECK_CUDA(cudaSetDevice(device));
  DeviceBuffer<int> buffer(count);
  CHECK_CUDA(cudaMemset(buffer.data(), 0, buffer.bytes()));
  CHECK_CUDA(cudaDeviceSynchronize());
  return buffer;
}
cudaStream_t stream_on(int device) {
  cudaStream_t stream;
  CHECK_CUDA(cudaSetDevice(device));
  CHECK_CUDA(cudaStreamCreate(&stream));
  return stream;
}

TEST_F(Devices, HaveNamesOfTheirOwn) {
  char ids[2][32], short_one[5];
  cudaDeviceProp properties[2];
  for (int i = 0; i < 2; ++i) {
    CHECK_CUDA(cudaDeviceGetPCIBusId(ids[i], sizeof ids[i], i));
    CHECK_CUDA(cudaGetDeviceProperties(&properties[i], i));
    unsigned domain, bus, device, function;
    EXPECT_EQ(std::sscanf(ids[i], "%4x:%2x:%2x.%1x", &domain, &bus, &device, &function), 4) << ids[i];
    EXPECT_EQ(std::strlen(ids[i]), 12u);
  }
  EXPECT_STRNE(ids[0], ids[1]);
  EXPECT_NE(std::memcmp(properties[0].uuid.bytes, properties[1].uuid.bytes, 16), 0);
  EXPECT_NE(cudaDeviceGetPCIBusId(short_one, sizeof short_one, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetPCIBusId(ids[0], sizeof ids[0], 1000), cudaErrorInvalidDevice);
  cudaGetLastError();
}

TEST_F(Devices, AreChosenByEachHostThread) {
  CHECK_CUDA(cudaSetDevice(1));
  int here = -1, there = -1;
  std::thread([&] { CHECK_CUDA(cudaGetDevice(&there)); }).join();
  CHECK_CUDA(cudaGetDevice(&here));
  EXPECT_EQ(here, 1);
  EXPECT_EQ(there, 0);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  CHECK_CUDA(cudaGetDevice(&here));
  EXPECT_EQ(here, 1);
}

TEST_F(Devices, HaveTheirOwnConstants) {
  const auto number_on = [](int device) {
    CHECK_CUDA(cudaSetDevice(device));
    return result_of<int>(1, [](int* out) { read_number<<<1, 1>>>(out); })[0];
  };
  EXPECT_EQ(number_on(0), 5);
  for (const int device : {0, 1}) {
    const int value = 10 + device;
    CHECK_CUDA(cudaSetDevice(device));
    CHECK_CUDA(cudaMemcpyToSymbol(number, &value, sizeof value));
  }
  EXPECT_EQ(number_on(0), 10);
  EXPECT_EQ(number_on(1), 11);
  EXPECT_EQ(number_on(0), 10);
  int value = 0;
  CHECK_CUDA(cudaSetDevice(1));
  CHECK_CUDA(cudaMemcpyFromSymbol(&value, number, sizeof value));
  EXPECT_EQ(value, 11);
}

TEST_F(Devices, CopyToEachOther) {
  auto first = zeros_on(0), second = zeros_on(1), third = zeros_on(1);
  CHECK_CUDA(cudaSetDevice(0));
  fill<<<1, count>>>(first.data(), 3);
  CHECK_CUDA(cudaMemcpyPeer(second.data(), 1, first.data(), 0, first.bytes()));
  CHECK_CUDA(cudaSetDevice(1));
  add<<<1, count>>>(second.data(), third.data(), 1);
  EXPECT_EQ(to_host(third), std::vector<int>(count, 4));
  cudaPointerAttributes attributes;
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, third.data()));
  EXPECT_EQ(attributes.device, 1);
  EXPECT_EQ(cudaMemcpyPeer(second.data(), 1000, first.data(), 0, first.bytes()), cudaErrorInvalidDevice);
  cudaGetLastError();
}

TEST_F(Devices, OrderTheirStreamsByEvents) {
  auto a = zeros_on(0), b = zeros_on(1), c = zeros_on(1);
  const cudaStream_t first = stream_on(0), second = stream_on(1);
  cudaEvent_t sent;
  CHECK_CUDA(cudaSetDevice(0));
  CHECK_CUDA(cudaEventCreate(&sent));
  fill<<<1, count, 0, first>>>(a.data(), 6);
  CHECK_CUDA(cudaMemcpyPeerAsync(b.data(), 1, a.data(), 0, a.bytes(), first));
  CHECK_CUDA(cudaEventRecord(sent, first));
  CHECK_CUDA(cudaSetDevice(1));
  CHECK_CUDA(cudaStreamWaitEvent(second, sent));
  add<<<1, count, 0, second>>>(b.data(), c.data(), 1);
  CHECK_CUDA(cudaStreamSynchronize(second));
  EXPECT_EQ(to_host(c), std::vector<int>(count, 7));
  CHECK_CUDA(cudaEventDestroy(sent));
  CHECK_CUDA(cudaStreamDestroy(first));
  CHECK_CUDA(cudaStreamDestroy(second));
}

TEST_F(Devices, CopyAndRecordInStreamsOfOthers) {
  auto a = zeros_on(0), b = zeros_on(1);
  const cudaStream_t stream = stream_on(0);
  cudaEvent_t of_device_0, of_device_1;
  CHECK_CUDA(cudaEventCreate(&of_device_0));
  CHECK_CUDA(cudaSetDevice(1));
  CHECK_CUDA(cudaEventCreate(&of_device_1));
  const std::vector<int> fives(count, 5);
  CHECK_CUDA(cudaMemsetAsync(a.data(), 0xff, a.bytes(), stream));
  CHECK_CUDA(cudaMemcpyAsync(b.data(), fives.data(), b.bytes(), cudaMemcpyHostToDevice, stream));
  CHECK_CUDA(cudaEventRecord(of_device_0, stream));
  CHECK_CUDA(cudaEventSynchronize(of_device_0));
  EXPECT_EQ(to_host(a), std::vector<int>(count, -1));
  EXPECT_EQ(to_host(b), fives);

  EXPECT_EQ(cudaMemsetAsync(b.data(), 0, b.bytes(), stream), cudaErrorInvalidValue) << "of device 1, by device 0";
  EXPECT_EQ(cudaEventRecord(of_device_1, stream), cudaErrorInvalidResourceHandle);
  CHECK_CUDA(cudaEventRecord(of_device_1));
  CHECK_CUDA(cudaEventSynchronize(of_device_1));
  float milliseconds = 0;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, of_device_0, of_device_1), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  CHECK_CUDA(cudaEventDestroy(of_device_0));
  CHECK_CUDA(cudaEventDestroy(of_device_1));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

TEST_F(Devices, FreeMemoryOfWhicheverDevice) {
  auto a = zeros_on(0);
  {
    auto b = zeros_on(1);
    fill<<<1, count>>>(b.data(), 6);
    CHECK_CUDA(cudaMemcpyPeerAsync(a.data(), 0, b.data(), 1, b.bytes(), nullptr));
    CHECK_CUDA(cudaSetDevice(0));
  }  // cudaFree waits for the memory's device, not for the current one
  EXPECT_EQ(to_host(a), std::vector<int>(count, 6));
}

}  // namespace devices
}  // namespace psflip::PSFLIP_PLATFORM
