// What only the CPU path has: its schedules, lazy streams, memory limit, and what it allows beyond CUDA's promises.
#include <cooperative_groups.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "semantics/other_process.hpp"
#include "semantics/semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

constexpr std::size_t memory_bytes = 50'000'000;  // main() says so to the runtime

// ---- schedules

__global__ void queue_up(int* next, int* order) { order[atomicAdd(next, 1)] = thread_in_grid(); }

/// The numbers of the threads of a grid, in the order in which they ran.
std::vector<int> order_of(int blocks, int threads) {
  DeviceBuffer<int> order(std::size_t(blocks) * threads);
  result_of<int>(1, [&](int* next) { queue_up<<<blocks, threads>>>(next, order.data()); });
  return to_host(order);
}

void expect_order_of_schedule(std::vector<int> order) {
  const auto numbers = generate(order.size(), [](int i) { return i; });
  switch (settings().schedule) {
    case Schedule::forward:
      EXPECT_EQ(order, numbers);
      break;
    case Schedule::reversed:
      EXPECT_EQ(std::vector(order.rbegin(), order.rend()), numbers);
      break;
    case Schedule::shuffled:
      EXPECT_TRUE(order != numbers || order.size() < 10);
  }
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, numbers);
}

TEST(Schedule, OrdersTheThreadsOfABlock) {
  expect_order_of_schedule(order_of(1, 1000));
  EXPECT_EQ(order_of(1, 1000) == order_of(1, 1000), settings().schedule != Schedule::shuffled);
}

TEST(Schedule, OrdersTheBlocksOfAGrid) {
  if (settings().workers > 1) GTEST_SKIP() << "several workers run blocks in no certain order";
  for (const int blocks : {1, 2, 3, 1000, 1024}) expect_order_of_schedule(order_of(blocks, 1));
}

__global__ void queue_up_after_barrier(int* next, int* order) {
  __syncthreads();
  order[atomicAdd(next, 1)] = threadIdx.x;
}
__global__ void queue_up_after_warp_barrier(int* next, int* order) {
  __syncwarp();
  order[atomicAdd(next, 1)] = threadIdx.x;
}

TEST(Schedule, AlsoOrdersThemBehindABarrier) {
  for (const auto kernel : {queue_up_after_barrier, queue_up_after_warp_barrier}) {
    DeviceBuffer<int> order(32);
    result_of<int>(1, [&](int* next) { kernel<<<1, 32>>>(next, order.data()); });
    expect_order_of_schedule(to_host(order));
  }
}

/// Launches blocks of one thread in clusters.
template <class... P, class... A>
cudaError_t launch_cluster(int grid, dim3 cluster, void (*kernel)(P...), A... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

__global__ void queue_up_after_cluster_barrier(int* next, int* order) {
  cooperative_groups::this_cluster().sync();
  order[atomicAdd(next, 1)] = blockIdx.x;
}

TEST(Schedule, OrdersTheBlocksOfACluster) {
  for (const auto kernel : {queue_up, queue_up_after_cluster_barrier}) {
    CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    DeviceBuffer<int> order(16);
    result_of<int>(1, [&](int* next) { CHECK_CUDA(launch_cluster(16, 16, kernel, next, order.data())); });
    expect_order_of_schedule(to_host(order));
  }
}

TEST(Schedule, OrdersTheClustersOfAGrid) {
  if (settings().workers > 1) GTEST_SKIP() << "several workers run clusters in no certain order";
  DeviceBuffer<int> order(1000);
  result_of<int>(1, [&](int* next) { CHECK_CUDA(launch_cluster(1000, 4, queue_up, next, order.data())); });
  expect_order_of_schedule(to_host(order));
  const auto all = to_host(order);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i] / 4, all[i / 4 * 4] / 4) << "a cluster runs at once";
}

// ---- streams

TEST(LazyStreams, RunNothingBeforeItMust) {
  cudaStream_t stream, other;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  int* pinned;
  CHECK_CUDA(cudaMallocHost(&pinned, 3 * sizeof(int)));
  pinned[0] = pinned[1] = pinned[2] = 0;
  const auto set = [](void* flag) { *static_cast<int*>(flag) = 1; };
  CHECK_CUDA(cudaLaunchHostFunc(stream, set, &pinned[0]));
  CHECK_CUDA(cudaLaunchHostFunc(stream, set, &pinned[1]));
  CHECK_CUDA(cudaLaunchHostFunc(nullptr, set, &pinned[2]));
  EXPECT_EQ(pinned[0] + pinned[1] + pinned[2], settings().lazy_streams ? 0 : 3);
  CHECK_CUDA(cudaStreamSynchronize(other));
  EXPECT_EQ(pinned[0] + pinned[1] + pinned[2], settings().lazy_streams ? 0 : 3) << "an empty stream needs no work";
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(pinned[0] + pinned[1], 2);
  CHECK_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(pinned[2], 1);
  CHECK_CUDA(cudaFreeHost(pinned));
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_CUDA(cudaStreamDestroy(other));
}

TEST(LazyStreams, DoNotOrderNonBlockingStreamsAndTheDefaultStream) {
  if (!settings().lazy_streams) GTEST_SKIP() << "work runs at once";
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::set<std::vector<int>> seen;
  for (int i = 0; i < 100; ++i) {
    std::vector<int> order;
    struct Step {
      std::vector<int>* order;
      int number;
    } first = {&order, 1}, second = {&order, 2};
    const auto note = [](void* step) { static_cast<Step*>(step)->order->push_back(static_cast<Step*>(step)->number); };
    CHECK_CUDA(cudaLaunchHostFunc(stream, note, &first));
    CHECK_CUDA(cudaLaunchHostFunc(nullptr, note, &second));
    CHECK_CUDA(cudaDeviceSynchronize());
    seen.insert(order);
  }
  EXPECT_EQ(seen, (std::set<std::vector<int>>{{1, 2}, {2, 1}}));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

/// A writer and a reader that no event orders.
TEST(LazyStreams, RunAnUnorderedStreamTooLateOrTooEarly) {
  cudaStream_t writer, reader;
  CHECK_CUDA(cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking));
  CHECK_CUDA(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
  struct Numbers {
    int written = 0, read = 0;
  } numbers;
  std::set<int> seen;
  for (int i = 1; i <= 100; ++i) {
    numbers = {};
    CHECK_CUDA(cudaLaunchHostFunc(
        writer, [](void* n) { ++static_cast<Numbers*>(n)->written; }, &numbers));
    CHECK_CUDA(cudaLaunchHostFunc(
        reader, [](void* n) { static_cast<Numbers*>(n)->read = static_cast<Numbers*>(n)->written; }, &numbers));
    CHECK_CUDA(cudaStreamSynchronize(reader));
    seen.insert(numbers.read);
    CHECK_CUDA(cudaStreamSynchronize(writer));
    EXPECT_EQ(numbers.written, 1);
  }
  EXPECT_EQ(seen, settings().lazy_streams ? (std::set<int>{0, 1}) : std::set<int>{1});
  CHECK_CUDA(cudaStreamDestroy(writer));
  CHECK_CUDA(cudaStreamDestroy(reader));
}

// ---- other processes

std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(total, memory_bytes);
  return free;
}

enum Errand { give_names, free_when_told, touch_last, touch_behind, touch_freed, give_workers };

struct Names {
  char id[16];
  cudaUUID_t uuid;
};
Names names_of(int device) {
  Names names{};
  cudaDeviceProp properties;
  CHECK_CUDA(cudaDeviceGetPCIBusId(names.id, sizeof names.id, device));
  CHECK_CUDA(cudaGetDeviceProperties(&properties, device));
  names.uuid = properties.uuid;
  return names;
}

__global__ void increment(int* number) { ++*number; }

constexpr int shared_numbers = 1000;  // not a whole page

TEST(OtherProcesses, DISABLED_Other) {
  const auto channel = Channel::of_other_process();
  if (!channel) GTEST_SKIP() << "the other tests run it";
  const int errand = channel->receive<int>();
  if (errand == give_names) return channel->send(names_of(1));
  if (errand == give_workers) return channel->send(settings().workers);
  if (errand == free_when_told) {
    auto buffer = to_device(std::vector<int>(shared_numbers, 4));
    channel->send(handle_of(buffer));
    channel->receive<int>();
    buffer = {};
    return channel->send(1);
  }
  int* memory = open(channel->receive<cudaIpcMemHandle_t>());
  constexpr int behind = (shared_numbers * sizeof(int) + 255) / 256 * 256 / sizeof(int);  // as finely as arrays end
  if (errand == touch_freed) {
    channel->send(1);
    channel->receive<int>();
  }
  increment<<<1, 1>>>(memory + (errand == touch_behind ? behind : shared_numbers - 1));
  CHECK_CUDA(cudaDeviceSynchronize());
}

TEST(OtherProcesses, HaveDevicesOfTheirOwn) {
  OtherProcess other(give_names);
  const auto theirs = other.channel().receive<Names>(), mine = names_of(1), again = names_of(1);
  EXPECT_EQ(other.status(), 0);
  EXPECT_STRNE(mine.id, theirs.id);
  EXPECT_STREQ(mine.id, again.id);
  EXPECT_NE(std::memcmp(mine.uuid.bytes, theirs.uuid.bytes, sizeof mine.uuid.bytes), 0);
  EXPECT_EQ(std::memcmp(mine.uuid.bytes, again.uuid.bytes, sizeof mine.uuid.bytes), 0);
}

TEST(OtherProcesses, ShareTheCoresWithTheOtherRanks) {
  if (std::getenv("PSFLIP_CPU_WORKERS") != nullptr) GTEST_SKIP() << "the number of workers is given";
  constexpr const char* ranks = "OMPI_COMM_WORLD_LOCAL_SIZE";  // as mpirun says it
  const auto workers_of = [](const char* text) {
    setenv(ranks, text, 1);
    OtherProcess other(give_workers);
    unsetenv(ranks);
    return other.channel().receive<unsigned>();
  };
  const unsigned alone = settings().workers;
  EXPECT_EQ(workers_of("1"), alone);
  if (!sanitized) {
    EXPECT_EQ(workers_of("2"), std::max(1u, alone / 2));
  }
  EXPECT_EQ(workers_of("1000000"), 1u);
  EXPECT_EQ(workers_of("none"), alone);
}

/// Sanitizers end the program in their own ways.
bool died_of(int wanted, int status) {
  return sanitized ? status != 0 : WIFSIGNALED(status) && WTERMSIG(status) == wanted;
}

TEST(OtherProcesses, DieOfAnAccessBeyondAnArray) {
  auto buffer = to_device(std::vector<int>(shared_numbers));
  const std::size_t free_before = free_memory();
  OtherProcess good(touch_last), bad(touch_behind);
  good.channel().send(handle_of(buffer));
  bad.channel().send(handle_of(buffer));
  EXPECT_EQ(good.status(), 0);
  EXPECT_TRUE(died_of(SIGSEGV, bad.status()));
  EXPECT_EQ(to_host(buffer)[shared_numbers - 1], 1);
  EXPECT_EQ(free_memory(), free_before);
}

TEST(OtherProcesses, DieOfAnAccessToWhatWasFreed) {
  auto buffer = to_device(std::vector<int>(shared_numbers));
  OtherProcess other(touch_freed);
  other.channel().send(handle_of(buffer));
  other.channel().receive<int>();
  buffer = {};
  other.channel().send(1);
  EXPECT_TRUE(died_of(SIGBUS, other.status()));
}

TEST(OtherProcesses, FreeTheirMemory) {
  OtherProcess other(free_when_told);
  const auto handle = other.channel().receive<cudaIpcMemHandle_t>();
  int* memory = open(handle);
  EXPECT_EQ(free_memory(), memory_bytes) << "it is not this process's";
  int number = 0;
  CHECK_CUDA(cudaMemcpy(&number, memory + 7, sizeof number, cudaMemcpyDefault));
  EXPECT_EQ(number, 4);
  other.channel().send(1);
  other.channel().receive<int>();
  CHECK_CUDA(cudaIpcCloseMemHandle(memory));
  void* pointer = nullptr;
  EXPECT_EQ(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess), cudaErrorMapBufferObjectFailed);
  EXPECT_EQ(other.status(), 0);
  EXPECT_EQ(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess), cudaErrorMapBufferObjectFailed);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMapBufferObjectFailed);
}

TEST(OtherProcesses, MayEndAndLeaveTheirMemory) {
  int* memory = nullptr;
  {
    OtherProcess other(free_when_told);
    memory = open(other.channel().receive<cudaIpcMemHandle_t>());
  }  // killed
  int number = 0;
  CHECK_CUDA(cudaMemcpy(&number, memory, sizeof number, cudaMemcpyDefault));
  EXPECT_EQ(number, 4);
  CHECK_CUDA(cudaIpcCloseMemHandle(memory));
}

TEST(Handles, OfThisProcessHaveNoUseHere) {
  DeviceBuffer<int> buffer(10);
  const auto handle = handle_of(buffer);
  void* pointer = nullptr;
  EXPECT_EQ(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess), cudaErrorDeviceUninitialized);
  cudaIpcMemHandle_t rubbish{};
  EXPECT_EQ(cudaIpcOpenMemHandle(&pointer, rubbish, cudaIpcMemLazyEnablePeerAccess), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

// ---- memory

TEST(Limit, IsKept) {
  EXPECT_EQ(free_memory(), memory_bytes);
  char *half, *rest, *none = nullptr, *pinned;
  CHECK_CUDA(cudaMalloc(&half, memory_bytes / 2));
  EXPECT_EQ(free_memory(), memory_bytes / 2);
  EXPECT_EQ(cudaMalloc(&none, memory_bytes / 2 + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(cudaMalloc(&none, SIZE_MAX), cudaErrorMemoryAllocation);
  cudaGetLastError();
  CHECK_CUDA(cudaMalloc(&rest, memory_bytes / 2));
  EXPECT_EQ(free_memory(), 0u);

  CHECK_CUDA(cudaMallocHost(&pinned, memory_bytes + 1));  // the host's memory, which has no limit
  pinned[memory_bytes] = 1;
  CHECK_CUDA(cudaSetDevice(1));
  EXPECT_EQ(free_memory(), memory_bytes) << "each device has its own";
  CHECK_CUDA(cudaFree(half));  // of device 0
  CHECK_CUDA(cudaSetDevice(0));
  EXPECT_EQ(free_memory(), memory_bytes / 2);
  CHECK_CUDA(cudaFree(rest));
  CHECK_CUDA(cudaFreeHost(pinned));
  EXPECT_EQ(free_memory(), memory_bytes);
}

TEST(Device, DescribesItself) {
  cudaDeviceProp p;
  CHECK_CUDA(cudaGetDeviceProperties(&p, 2));
  EXPECT_STRNE(p.name, "");
  EXPECT_EQ(p.totalGlobalMem, memory_bytes);
  EXPECT_EQ(p.multiProcessorCount, static_cast<int>(settings().workers));
  int value = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 2));
  EXPECT_EQ(value, p.multiProcessorCount);
  CHECK_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 2));
  EXPECT_EQ(value, 227 * 1024);
  EXPECT_EQ(cudaGetDeviceProperties(&p, 3), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

// ---- errors that CUDA gives no one number

__global__ void nothing() {}

TEST(Launches, OfImpossibleShapesAreInvalidConfigurations) {
  nothing<<<1, 1025>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  nothing<<<dim3(1, 65536), 1>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
}

TEST(Launches, OfImpossibleClustersAreInvalidClusterSizes) {
  for (const dim3 cluster : {dim3(0), dim3(2, 0), dim3(5), dim3(1, 2), dim3(16), dim3(9)})
    EXPECT_EQ(launch_cluster(48, cluster, nothing), cudaErrorInvalidClusterSize)
        << cluster.x << " " << cluster.y << " " << cluster.z;
  CHECK_CUDA(cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  EXPECT_EQ(launch_cluster(48, 16, nothing), cudaSuccess);
  EXPECT_EQ(launch_cluster(48, 24, nothing), cudaErrorInvalidClusterSize);
  CHECK_CUDA(cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
  EXPECT_EQ(launch_cluster(48, 16, nothing), cudaErrorInvalidClusterSize);
  cudaGetLastError();
}

TEST(Launches, IntoDestroyedStreamsAreRefused) {
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaStreamDestroy(stream));
  nothing<<<1, 1, 0, stream>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

/// The programming guide says so. (CUDA 13 runs it on the stream's device instead.)
TEST(Launches, IntoStreamsOfOtherDevicesAreRefused) {
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaSetDevice(1));
  nothing<<<1, 1, 0, stream>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  CHECK_CUDA(cudaSetDevice(0));
  nothing<<<1, 1, 0, stream>>>();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  CHECK_CUDA(cudaStreamDestroy(stream));
}

// ---- kernels

/// Thread i leaves after i barriers; the last one notes how many came to each. (A GPU may keep a thread in its warp
/// until the others have left the loop too.)
__global__ void leave_one_by_one(int* out) {
  const int i = threadIdx.x, last = blockDim.x - 1;
  for (int step = 0; step < i; ++step) {
    const int came = __syncthreads_count(1);
    if (i == last) out[step] = came;
  }
}

TEST(Barriers, CountTheThreadsThatAreLeft) {
  for (const int size : {2, 32, 33, 1000})
    EXPECT_EQ(result_of<int>(size - 1, [=](int* out) { leave_one_by_one<<<1, size>>>(out); }),
              generate(size - 1, [=](int i) { return size - 1 - i; }));
}

/// (nvcc warns about recursion.)
__device__ int depths(int depth) {
  __shared__ int shared;
  if (threadIdx.x == 0) shared = depth;
  __syncthreads();
  const int mine = shared;
  __syncthreads();
  return depth > 0 ? mine + depths(depth - 1) : mine;
}
__global__ void sum_depths(int* out) { out[thread_in_grid()] = depths(5); }

TEST(SharedMemory, IsOneInARecursion) {
  EXPECT_EQ(result_of<int>(100 * 64, [](int* out) { sum_depths<<<100, 64>>>(out); }), std::vector<int>(100 * 64, 15));
}

/// 16 KiB of local memory in each of the threads that wait at once.
__global__ void fill_stacks(int* out) {
  volatile int local[4096];
  for (int i = 0; i < 4096; ++i) local[i] = i + threadIdx.x;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 4096; ++i) sum += local[i] - i;
  out[threadIdx.x] = sum;
}

TEST(Kernels, HaveLocalMemory) {
  EXPECT_EQ(result_of<int>(100, [](int* out) { fill_stacks<<<1, 100>>>(out); }),
            generate(100, [](int i) { return 4096 * i; }));
}

// Aligned as a texture has to be, so that nothing but its being host memory is wrong with it.
TEST(Textures, RefuseHostMemory) {
  alignas(512) static int host[1000];
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = host;
  resource.res.linear.desc = cudaCreateChannelDesc<int>();
  resource.res.linear.sizeInBytes = sizeof host;
  const cudaTextureDesc description{cudaReadModeElementType};
  cudaTextureObject_t texture = 0;
  EXPECT_EQ(cudaCreateTextureObject(&texture, &resource, &description, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace psflip::PSFLIP_PLATFORM

int main(int argc, char** argv) {
  setenv("PSFLIP_CPU_MEMORY", std::to_string(psflip::PSFLIP_PLATFORM::memory_bytes).c_str(), 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
