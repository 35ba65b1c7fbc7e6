// Device memory, pinned memory, and what copies promise and refuse.
#include <cstdint>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace memory {

constexpr int count = 1000;
constexpr std::size_t bytes = count * sizeof(int);

__global__ void number(int* out, int first) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = first + i;
}
void launch_number(int* out, int first, cudaStream_t stream = nullptr) {
  number<<<(count + 127) / 128, 128, 0, stream>>>(out, first);
}
std::vector<int> numbered(int first) {
  return generate(count, [=](int i) { return first + i; });
}

/// The error, which is forgotten: the next call must not see it.
cudaError_t once(cudaError_t error) {
  EXPECT_EQ(cudaGetLastError(), error);
  return error;
}

TEST(Memory, IsAligned) {
  for (const std::size_t size : {1, 3, 100, 4096, 5000}) {
    const DeviceBuffer<char> buffer(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0u);
  }
}

TEST(Memory, CopiesBothWaysAndAcross) {
  auto first = to_device(numbered(3));
  DeviceBuffer<int> second(count);
  CHECK_CUDA(cudaMemcpy(second.data(), first.data(), bytes, cudaMemcpyDeviceToDevice));
  EXPECT_EQ(to_host(second), numbered(3));
  std::vector<int> host(count);
  CHECK_CUDA(cudaMemcpy(host.data(), numbered(9).data(), bytes, cudaMemcpyHostToHost));
  EXPECT_EQ(host, numbered(9));
  CHECK_CUDA(cudaMemcpy(second.data(), host.data(), bytes, cudaMemcpyDefault));
  CHECK_CUDA(cudaMemcpy(first.data(), second.data(), bytes, cudaMemcpyDefault));
  CHECK_CUDA(cudaMemcpy(host.data() + 1, first.data(), bytes - sizeof(int), cudaMemcpyDefault));
  EXPECT_EQ(host[1], 9);
  EXPECT_EQ(host[count - 1], 9 + count - 2);
}

TEST(Memory, CopiesPartsAndTables) {
  DeviceBuffer<int> device(count);
  CHECK_CUDA(cudaMemset(device.data(), 0xff, bytes));
  CHECK_CUDA(cudaMemset(device.data() + 10, 0, 5 * sizeof(int)));
  EXPECT_EQ(to_host(device), generate(count, [](int i) { return 10 <= i && i < 15 ? 0 : -1; }));

  const auto host = numbered(0);  // 3 rows of 4 numbers, out of rows of 10 into rows of 5
  CHECK_CUDA(cudaMemcpy2D(device.data(), 5 * sizeof(int), host.data(), 10 * sizeof(int), 4 * sizeof(int), 3,
                          cudaMemcpyHostToDevice));
  EXPECT_EQ(to_host(device), generate(count, [](int i) {
              if (i < 15 && i % 5 < 4) return i / 5 * 10 + i % 5;
              return 10 <= i && i < 15 ? 0 : -1;
            }));
}

TEST(Memory, TablesAreCopiedInStreamOrder) {
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  DeviceBuffer<int> device(count), table(60);
  int* pinned = nullptr;
  CHECK_CUDA(cudaMallocHost(&pinned, 60 * sizeof(int)));
  constexpr std::size_t width = 4 * sizeof(int), narrow = 5 * sizeof(int), wide = 20 * sizeof(int);
  launch_number(device.data(), 0, stream);
  CHECK_CUDA(cudaMemsetAsync(table.data(), 0, table.bytes(), stream));
  CHECK_CUDA(
      cudaMemcpy2DAsync(table.data(), narrow, device.data() + 1, wide, width, 12, cudaMemcpyDeviceToDevice, stream));
  launch_number(device.data(), 1000, stream);
  CHECK_CUDA(cudaMemcpy2DAsync(pinned, narrow, table.data(), narrow, narrow, 12, cudaMemcpyDefault, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(std::vector<int>(pinned, pinned + 60),
            generate(60, [](int i) { return i % 5 < 4 ? i / 5 * 20 + i % 5 + 1 : 0; }));

  std::vector<int> ordinary(60);  // which is there when the call returns
  CHECK_CUDA(cudaMemcpy2DAsync(ordinary.data(), wide, device.data(), wide, width, 3, cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(ordinary, generate(60, [](int i) { return i % 20 < 4 ? 1000 + i : 0; }));
  CHECK_CUDA(cudaFreeHost(pinned));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

TEST(Memory, RefusesBadTables) {
  DeviceBuffer<int> device(100);
  std::vector<int> host(100);
  const auto copy = [&](std::size_t target_pitch, std::size_t source_pitch, std::size_t width, std::size_t height,
                        cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cudaMemcpy2DAsync(device.data(), target_pitch, host.data(), source_pitch, width, height, kind);
  };
  EXPECT_EQ(once(copy(39, 40, 40, 10)), cudaErrorInvalidPitchValue);
  EXPECT_EQ(once(copy(40, 39, 40, 10)), cudaErrorInvalidPitchValue);
  EXPECT_EQ(once(copy(40, 40, 40, 11)), cudaErrorInvalidValue) << "11 rows of 40 bytes are more than 400";
  EXPECT_EQ(once(copy(40, 40, 40, 10, cudaMemcpyDeviceToHost)), cudaErrorInvalidValue);
  CHECK_CUDA(copy(60, 40, 40, 7));  // the last row may be shorter than the pitch
  CHECK_CUDA(copy(40, 40, 0, 1000));
  CHECK_CUDA(copy(40, 40, 40, 0));
  CHECK_CUDA(cudaDeviceSynchronize());
}

TEST(Memory, AsynchronousCopyFromOrdinaryMemoryTakesItsSourceAtOnce) {
  DeviceBuffer<int> device(count);
  auto host = numbered(1);
  CHECK_CUDA(cudaMemcpyAsync(device.data(), host.data(), bytes, cudaMemcpyHostToDevice));
  host.assign(count, -1);
  EXPECT_EQ(to_host(device), numbered(1));
}

TEST(Memory, AsynchronousCopyToOrdinaryMemoryIsThereAtOnce) {
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  DeviceBuffer<int> device(count);
  std::vector<int> host(count);
  launch_number(device.data(), 5, stream);
  CHECK_CUDA(cudaMemcpyAsync(host.data(), device.data(), bytes, cudaMemcpyDeviceToHost, stream));
  EXPECT_EQ(host, numbered(5));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

TEST(Memory, PinnedMemoryIsCopiedInStreamOrder) {
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  DeviceBuffer<int> device(count);
  int* pinned = nullptr;
  CHECK_CUDA(cudaMallocHost(&pinned, bytes));
  for (int i = 0; i < count; ++i) pinned[i] = 0;
  launch_number(device.data(), 8, stream);
  CHECK_CUDA(cudaMemcpyAsync(pinned, device.data(), bytes, cudaMemcpyDeviceToHost, stream));
  launch_number(device.data(), 9, stream);
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(std::vector<int>(pinned, pinned + count), numbered(8));

  CHECK_CUDA(cudaMemcpyAsync(device.data(), pinned, bytes, cudaMemcpyHostToDevice, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(to_host(device), numbered(8));
  CHECK_CUDA(cudaFreeHost(pinned));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

TEST(Memory, KernelsMayUsePinnedMemory) {
  int* pinned = nullptr;
  CHECK_CUDA(cudaHostAlloc(&pinned, bytes, cudaHostAllocMapped));
  launch_number(pinned, 4);
  CHECK_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(std::vector<int>(pinned, pinned + count), numbered(4));
  CHECK_CUDA(cudaFreeHost(pinned));
}

TEST(Memory, KnowsItsPointers) {
  DeviceBuffer<int> device(count);
  int *pinned = nullptr, ordinary = 0;
  CHECK_CUDA(cudaMallocHost(&pinned, bytes));
  cudaPointerAttributes attributes;
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, device.data() + count - 1));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, &ordinary));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  CHECK_CUDA(cudaFreeHost(pinned));
}

TEST(Memory, RefusesWrongDirections) {
  DeviceBuffer<int> device(count);
  std::vector<int> host(count);
  EXPECT_EQ(once(cudaMemcpy(device.data(), host.data(), bytes, cudaMemcpyDeviceToHost)), cudaErrorInvalidValue);
  EXPECT_EQ(once(cudaMemcpy(host.data(), device.data(), bytes, cudaMemcpyHostToDevice)), cudaErrorInvalidValue);
  EXPECT_EQ(once(cudaMemcpy(device.data(), host.data(), bytes, static_cast<cudaMemcpyKind>(7))),
            cudaErrorInvalidMemcpyDirection);
}

TEST(Memory, RefusesCopiesBeyondTheEnd) {
  DeviceBuffer<int> device(count);
  std::vector<int> host(2 * count);
  EXPECT_EQ(once(cudaMemcpy(device.data(), host.data(), 2 * bytes, cudaMemcpyHostToDevice)), cudaErrorInvalidValue);
  EXPECT_EQ(once(cudaMemcpy(host.data(), device.data() + 1, bytes, cudaMemcpyDeviceToHost)), cudaErrorInvalidValue);
  EXPECT_EQ(once(cudaMemset(device.data() + 1, 0, bytes)), cudaErrorInvalidValue);
  EXPECT_EQ(once(cudaMemset(nullptr, 0, bytes)), cudaErrorInvalidValue);
  CHECK_CUDA(cudaMemcpy(device.data() + count, host.data(), 0, cudaMemcpyHostToDevice));
}

TEST(Memory, IsFreedOnce) {
  int *device = nullptr, *pinned = nullptr;
  CHECK_CUDA(cudaMalloc(&device, bytes));
  CHECK_CUDA(cudaMallocHost(&pinned, bytes));
  EXPECT_EQ(once(cudaFree(pinned)), cudaErrorInvalidValue);
  EXPECT_EQ(once(cudaFreeHost(device)), cudaErrorInvalidValue);
  EXPECT_EQ(once(cudaFree(device + 1)), cudaErrorInvalidValue);
  CHECK_CUDA(cudaFree(device));
  EXPECT_EQ(once(cudaFree(device)), cudaErrorInvalidValue);
  CHECK_CUDA(cudaFreeHost(pinned));
  EXPECT_EQ(once(cudaFreeHost(pinned)), cudaErrorInvalidValue);
  CHECK_CUDA(cudaFree(nullptr));
  CHECK_CUDA(cudaFreeHost(nullptr));
}

TEST(Memory, MayRunOut) {
  std::size_t free = 0, total = 0;
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  EXPECT_LE(free, total);
  EXPECT_GT(free, 0u);
  void* pointer = nullptr;
  EXPECT_EQ(once(cudaMalloc(&pointer, total + 1)), cudaErrorMemoryAllocation);
  CHECK_CUDA(cudaMalloc(&pointer, 0));
  EXPECT_EQ(pointer, nullptr);
}

}  // namespace memory
}  // namespace psflip::PSFLIP_PLATFORM
