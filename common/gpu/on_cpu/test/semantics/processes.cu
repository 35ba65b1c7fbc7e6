// Processes that share device memory, and kernels that wait for each other's writes. The other process is this program,
// started again to run one test that is disabled otherwise.
#include <cstring>
#include <cuda/atomic>

#include "other_process.hpp"
#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace processes {

constexpr int count = 1000;

__device__ void set_flag(int* flag, int value) {
  cuda::atomic_ref<int, cuda::thread_scope_system>(*flag).store(value, cuda::memory_order_release);
}
__device__ void wait_for_flag(int* flag, int value) {
  while (cuda::atomic_ref<int, cuda::thread_scope_system>(*flag).load(cuda::memory_order_acquire) < value)
    __nanosleep(1000);
}

__global__ void add(int* all, int value) {
  for (int i = thread_in_grid(); i < count; i += gridDim.x * blockDim.x) all[i] += value;
}
__global__ void set(int* flag, int value) { set_flag(flag, value); }
__global__ void wait(int* flag, int value) { wait_for_flag(flag, value); }
/// The older way, for one thread.
__global__ void set_with_fence(volatile int* data, volatile int* flag, int value) {
  *data = value;
  __threadfence_system();
  *flag = value;
}
__global__ void copy_when_set(const volatile int* data, const volatile int* flag, int value, int* result) {
  while (*flag < value) __nanosleep(1000);
  __threadfence_system();
  *result = *data;
}

enum Task { add_to_memory, answer_flags, answer_volatile_flags, copy_tables, share };

std::vector<int> content(const int* device, int elements = count) {
  std::vector<int> host(static_cast<std::size_t>(elements));
  CHECK_CUDA(cudaMemcpy(host.data(), device, host.size() * sizeof(int), cudaMemcpyDeviceToHost));
  return host;
}
std::vector<int> numbers(int first, int elements = count) {
  return generate(static_cast<std::size_t>(elements), [=](int i) { return first + i; });
}
DeviceBuffer<int> zeros(int elements = count) {
  return to_device(std::vector<int>(static_cast<std::size_t>(elements)));
}

// ---- what the other process does

void do_add_to_memory(const Channel& channel) {
  int* memory = open(channel.receive<cudaIpcMemHandle_t>());
  EXPECT_EQ(content(memory), numbers(7));
  add<<<3, 64>>>(memory, 100);
  CHECK_CUDA(cudaDeviceSynchronize());
  channel.send(1);
  EXPECT_EQ(channel.receive<int>(), 2);
  EXPECT_EQ(content(memory), numbers(1107)) << "what the owner wrote since";
  CHECK_CUDA(cudaIpcCloseMemHandle(memory));
  channel.send(3);
}

void do_answer_flags(const Channel& channel) {
  int* memory = open(channel.receive<cudaIpcMemHandle_t>());
  const int rounds = channel.receive<int>();
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int round = 1; round <= rounds; ++round) {
    wait<<<1, 1, 0, stream>>>(memory + count, round);
    add<<<3, 64, 0, stream>>>(memory, round);
    set<<<1, 1, 0, stream>>>(memory + count + 1, round);
  }
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK_CUDA(cudaIpcCloseMemHandle(memory));
}

void do_answer_volatile_flags(const Channel& channel) {
  int* memory = open(channel.receive<cudaIpcMemHandle_t>());
  auto result = zeros(1);
  copy_when_set<<<1, 1>>>(memory, memory + 1, 5, result.data());
  set_with_fence<<<1, 1>>>(memory + 2, memory + 3, 6);
  EXPECT_EQ(to_host(result), std::vector<int>{5});
  channel.receive<int>();
  CHECK_CUDA(cudaIpcCloseMemHandle(memory));
}

void do_copy_tables(const Channel& channel) {
  int* memory = open(channel.receive<cudaIpcMemHandle_t>());
  auto mine = to_device(numbers(0, 40));
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaMemcpy2DAsync(memory, 5 * sizeof(int), mine.data(), 10 * sizeof(int), 4 * sizeof(int), 3,
                               cudaMemcpyDeviceToDevice, stream));
  CHECK_CUDA(cudaMemsetAsync(memory + 20, 0xff, 3 * sizeof(int), stream));
  CHECK_CUDA(cudaMemcpyAsync(memory + 30, mine.data() + 5, 2 * sizeof(int), cudaMemcpyDefault, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  cudaPointerAttributes attributes;
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, memory));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  CHECK_CUDA(cudaIpcCloseMemHandle(memory));
  channel.send(1);
  channel.receive<int>();
}

/// The other direction: this process owns the memory. Others come and go.
void do_share(const Channel& channel) {
  DeviceBuffer<int> before(10);
  auto buffer = to_device(numbers(3));
  DeviceBuffer<int> after(10);
  channel.send(handle_of(buffer));
  channel.send(handle_of(buffer));
  cudaIpcMemHandle_t inside;
  CHECK_CUDA(cudaIpcGetMemHandle(&inside, buffer.data() + 17));
  channel.send(inside);
  channel.receive<int>();
  EXPECT_EQ(content(buffer.data()), numbers(4));
}

TEST(Processes, DISABLED_Other) {
  const auto channel = Channel::of_other_process();
  if (!channel) GTEST_SKIP() << "the other tests run it";
  switch (channel->receive<int>()) {
    case add_to_memory:
      return do_add_to_memory(*channel);
    case answer_flags:
      return do_answer_flags(*channel);
    case answer_volatile_flags:
      return do_answer_volatile_flags(*channel);
    case copy_tables:
      return do_copy_tables(*channel);
    case share:
      return do_share(*channel);
  }
}

// ---- what this process does

TEST(Processes, SeeEachOthersWrites) {
  auto buffer = to_device(numbers(7));
  OtherProcess other(add_to_memory);
  other.channel().send(handle_of(buffer));
  ASSERT_EQ(other.channel().receive<int>(), 1);
  EXPECT_EQ(to_host(buffer), numbers(107));
  add<<<3, 64>>>(buffer.data(), 1000);
  CHECK_CUDA(cudaDeviceSynchronize());
  other.channel().send(2);
  EXPECT_EQ(other.channel().receive<int>(), 3);
  EXPECT_EQ(other.status(), 0);
  EXPECT_EQ(to_host(buffer), numbers(1107)) << "the owner's memory outlives the mapping";
}

TEST(Processes, OpenMemoryInBothDirections) {
  OtherProcess other(share);
  const auto first = other.channel().receive<cudaIpcMemHandle_t>(),
             second = other.channel().receive<cudaIpcMemHandle_t>(),
             inside = other.channel().receive<cudaIpcMemHandle_t>();
  int *memory = open(first), *again = open(second), *base = open(inside);
  EXPECT_EQ(memory, again) << "one mapping, opened again";
  EXPECT_EQ(memory, base) << "a handle means the whole allocation";
  EXPECT_EQ(content(memory), numbers(3));
  EXPECT_NE(cudaFree(memory), cudaSuccess);
  cudaIpcMemHandle_t handle;
  EXPECT_NE(cudaIpcGetMemHandle(&handle, memory), cudaSuccess) << "the owner gives handles away";
  cudaGetLastError();
  CHECK_CUDA(cudaIpcCloseMemHandle(memory));
  CHECK_CUDA(cudaIpcCloseMemHandle(again));
  add<<<3, 64>>>(base, 1);  // still open once
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaIpcCloseMemHandle(base));
  EXPECT_NE(cudaIpcCloseMemHandle(base), cudaSuccess);
  cudaGetLastError();
  other.channel().send(1);
  EXPECT_EQ(other.status(), 0);
}

TEST(Processes, WaitForEachOthersFlags) {
  constexpr int rounds = 50;
  auto buffer = zeros(count + 2);  // and two flags
  OtherProcess other(answer_flags);
  other.channel().send(handle_of(buffer));
  other.channel().send(rounds);
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int round = 1; round <= rounds; ++round) {
    add<<<3, 64, 0, stream>>>(buffer.data(), 1000);
    set<<<1, 1, 0, stream>>>(buffer.data() + count, round);
    wait<<<1, 1, 0, stream>>>(buffer.data() + count + 1, round);
  }
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK_CUDA(cudaStreamDestroy(stream));
  EXPECT_EQ(other.status(), 0);
  std::vector<int> expected(count, rounds * 1000 + rounds * (rounds + 1) / 2);
  expected.insert(expected.end(), 2, rounds);
  EXPECT_EQ(to_host(buffer), expected);
}

TEST(Processes, MayUseVolatileFlagsWithFences) {
  auto buffer = zeros(4), result = zeros(1);
  OtherProcess other(answer_volatile_flags);
  other.channel().send(handle_of(buffer));
  set_with_fence<<<1, 1>>>(buffer.data(), buffer.data() + 1, 5);
  copy_when_set<<<1, 1>>>(buffer.data() + 2, buffer.data() + 3, 6, result.data());
  EXPECT_EQ(to_host(result), std::vector<int>{6});
  other.channel().send(1);
  EXPECT_EQ(other.status(), 0);
}

TEST(Processes, CopyIntoEachOthersMemory) {
  auto buffer = zeros(40);
  OtherProcess other(copy_tables);
  other.channel().send(handle_of(buffer));
  ASSERT_EQ(other.channel().receive<int>(), 1);
  EXPECT_EQ(to_host(buffer), generate(40, [](int i) {
              if (i < 15) return i % 5 < 4 ? i / 5 * 10 + i % 5 : 0;
              if (20 <= i && i < 23) return -1;
              return 30 <= i && i < 32 ? i - 25 : 0;
            }));
  other.channel().send(2);
  EXPECT_EQ(other.status(), 0);
}

TEST(Handles, AreOnlyForDeviceMemory) {
  int *pinned = nullptr, ordinary = 0;
  CHECK_CUDA(cudaMallocHost(&pinned, sizeof(int)));
  cudaIpcMemHandle_t handle;
  for (int* pointer : {pinned, &ordinary, static_cast<int*>(nullptr)})
    EXPECT_EQ(cudaIpcGetMemHandle(&handle, pointer), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  CHECK_CUDA(cudaFreeHost(pinned));
}

TEST(Handles, AreForOtherProcesses) {
  auto buffer = to_device(numbers(7));
  void* pointer = nullptr;
  EXPECT_NE(cudaIpcOpenMemHandle(&pointer, handle_of(buffer), cudaIpcMemLazyEnablePeerAccess), cudaSuccess);
  cudaGetLastError();
  EXPECT_EQ(to_host(buffer), numbers(7));
}

TEST(Handles, MustMakeSense) {
  cudaIpcMemHandle_t handle;
  std::memset(&handle, 0x5a, sizeof handle);
  void* pointer = nullptr;
  EXPECT_NE(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess), cudaSuccess);
  EXPECT_NE(cudaGetLastError(), cudaSuccess);
  OtherProcess other(share);
  handle = other.channel().receive<cudaIpcMemHandle_t>();
  EXPECT_EQ(cudaIpcOpenMemHandle(&pointer, handle, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

}  // namespace processes
}  // namespace psflip::PSFLIP_PLATFORM
