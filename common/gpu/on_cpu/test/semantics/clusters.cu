// Thread block clusters: their barrier, and the shared memory of their other blocks.
#include <cooperative_groups.h>

#include <utility>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace clusters {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
// nvcc compiles for devices without clusters too, where its header does not declare them and nothing below runs.
struct cluster_group {
  struct arrival_token {};
  __device__ void sync() {}
  __device__ arrival_token barrier_arrive() { return {}; }
  __device__ void barrier_wait() {}
  __device__ void barrier_wait(arrival_token&&) {}
  __device__ unsigned block_rank() { return 0; }
  __device__ unsigned num_blocks() { return 1; }
  template <class T>
  __device__ T* map_shared_rank(T* address, int) {
    return address;
  }
};
__device__ cluster_group this_cluster() { return {}; }
#else
using cooperative_groups::cluster_group;
using cooperative_groups::this_cluster;
#endif

struct Shape {
  dim3 grid, block, cluster;
  std::size_t dynamic_shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

/// Launches with a cluster and returns the error.
template <class... P, class... A>
cudaError_t launch(const Shape& shape, void (*kernel)(P...), A... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = shape.cluster.x;
  attribute.val.clusterDim.y = shape.cluster.y;
  attribute.val.clusterDim.z = shape.cluster.z;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.dynamic_shared_bytes;
  config.stream = shape.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

class Clusters : public testing::Test {
 protected:
  void SetUp() override {
    int has_clusters = 0;
    CHECK_CUDA(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, 0));
    if (!has_clusters) GTEST_SKIP() << "the device has no thread block clusters";
  }
};

/// In each step every thread takes the value of its twin in the next block. `tag` makes kernels with attributes of
/// their own.
template <int tag>
__global__ void rotate(int* out, int steps) {
  extern __shared__ int ring[];
  cluster_group cluster = this_cluster();
  const int i = threadIdx.x, next = (cluster.block_rank() + 1) % cluster.num_blocks();
  int value = thread_in_grid();
  for (int step = 0; step < steps; ++step) {
    ring[i] = value;
    cluster.sync();
    value = cluster.map_shared_rank(ring, next)[i];
    cluster.sync();
  }
  out[thread_in_grid()] = value;
}

std::vector<int> rotated(int clusters, int cluster, int threads, int steps) {
  return generate(std::size_t(clusters) * cluster * threads, [=](int i) {
    const int block = i / threads, first = block / cluster * cluster;
    return (first + (block - first + steps) % cluster) * threads + i % threads;
  });
}

TEST_F(Clusters, PassValuesAroundARing) {
  for (const int cluster : {1, 2, 3, 4, 8})
    for (const int threads : {1, 33, 128})
      for (const int clusters : {1, 5}) {
        const std::size_t bytes = threads * sizeof(int);
        const unsigned blocks = clusters * cluster;
        EXPECT_EQ(result_of<int>(std::size_t(blocks) * threads,
                                 [=](int* out) {
                                   CHECK_CUDA(launch({blocks, threads, cluster, bytes}, rotate<0>, out, 5));
                                 }),
                  rotated(clusters, cluster, threads, 5))
            << clusters << " clusters of " << cluster << " blocks of " << threads;
      }
}

TEST_F(Clusters, HaveUpTo16BlocksOnRequest) {
  CHECK_CUDA(cudaFuncSetAttribute(rotate<1>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  EXPECT_EQ(result_of<int>(32 * 64,
                           [](int* out) {
                             CHECK_CUDA(launch({32, 64, 16, 256}, rotate<1>, out, 3));
                           }),
            rotated(2, 16, 64, 3));
}

TEST_F(Clusters, OfImpossibleSizesAreRefused) {
  const auto refused = [](const Shape& shape) {
    DeviceBuffer<int> out(1);
    CHECK_CUDA(cudaMemset(out.data(), 0, sizeof(int)));
    const cudaError_t error = launch(shape, rotate<2>, out.data(), 0);
    EXPECT_EQ(cudaGetLastError(), error);
    EXPECT_EQ(to_host(out)[0], 0);
    return error == cudaErrorInvalidClusterSize || error == cudaErrorInvalidConfiguration ||
           error == cudaErrorInvalidValue;
  };
  EXPECT_TRUE(refused({3, 1, 2}));
  EXPECT_TRUE(refused({{4, 3}, 1, {2, 2}}));
  EXPECT_TRUE(refused({16, 1, 16})) << "more than 8 without asking for it";
  EXPECT_TRUE(refused({{4, 4}, 1, {4, 4}}));
  CHECK_CUDA(cudaFuncSetAttribute(rotate<2>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  EXPECT_TRUE(refused({32, 1, 32}));
  CHECK_CUDA(cudaFuncSetAttribute(rotate<2>, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
}

TEST_F(Clusters, FitIntoTheDevice) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 4;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 4;
  config.blockDim = 256;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  CHECK_CUDA(cudaOccupancyMaxActiveClusters(&clusters, rotate<0>, &config));
  EXPECT_GE(clusters, 1);
  attribute.val.clusterDim.x = config.gridDim.x = 32;
  EXPECT_NE(cudaOccupancyMaxActiveClusters(&clusters, rotate<0>, &config), cudaSuccess);
  cudaGetLastError();
}

__global__ void name_blocks(int* ranks, int* sizes) {
  cluster_group cluster = this_cluster();
  const int block = thread_in_grid();
  ranks[block] = cluster.block_rank();
  sizes[block] = cluster.num_blocks();
}

TEST_F(Clusters, NumberTheirBlocksInThreeDimensions) {
  const dim3 grid(6, 4, 4);
  for (const dim3 cluster : {dim3(1, 1, 1), dim3(3, 2, 1), dim3(2, 2, 2), dim3(1, 4, 2), dim3(1, 1, 4)}) {
    DeviceBuffer<int> sizes(96);
    const auto ranks = result_of<int>(96, [&](int* out) {
      CHECK_CUDA(launch({grid, 1, cluster}, name_blocks, out, sizes.data()));
    });
    EXPECT_EQ(ranks, generate(96, [=](unsigned i) {
                const unsigned x = i % 6 % cluster.x, y = i / 6 % 4 % cluster.y, z = i / 24 % cluster.z;
                return static_cast<int>(x + cluster.x * (y + cluster.y * z));
              }));
    EXPECT_EQ(to_host(sizes), std::vector<int>(96, cluster.x * cluster.y * cluster.z));
  }
}

/// Every thread adds to the sum in the first block of its cluster, by atomics; a static variable.
__global__ void sum_in_first_block(int* out) {
  __shared__ int padding[7], sum;
  cluster_group cluster = this_cluster();
  if (threadIdx.x == 0) padding[blockIdx.x % 7] = sum = 0;
  cluster.sync();
  atomicAdd(cluster.map_shared_rank(&sum, 0), thread_in_grid() + padding[blockIdx.x % 7]);
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) out[blockIdx.x / cluster.num_blocks()] = sum;
}

TEST_F(Clusters, SumIntoAStaticVariableOfOneBlock) {
  for (const int cluster : {1, 2, 8}) {
    const int count = cluster * 100;
    EXPECT_EQ(result_of<int>(9,
                             [=](int* out) {
                               CHECK_CUDA(launch({9 * cluster, 100, cluster}, sum_in_first_block, out));
                             }),
              generate(9, [=](int i) { return count * i * count + count * (count - 1) / 2; }));
  }
}

/// Blocks reduce by themselves, with barriers of their own and shuffles, and do more of it the higher their rank; then
/// each block reads all others' sums.
__global__ void uneven(int* out) {
  __shared__ int sum[1024];
  __shared__ int total;
  cluster_group cluster = this_cluster();
  const int i = threadIdx.x, rank = cluster.block_rank();
  for (int round = 0; round <= rank; ++round) {
    sum[i] = i + round;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 16; half /= 2) {
      if (i < half) sum[i] += sum[i + half];
      __syncthreads();
    }
    if (i < 32) {
      int value = sum[i];
      for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(full_mask, value, step);
      if (i == 0) total = value;
    }
    __syncthreads();
  }
  cluster.sync();
  int all = 0;
  for (int other = i; other < static_cast<int>(cluster.num_blocks()); other += blockDim.x)
    all += *cluster.map_shared_rank(&total, other);
  if (i < 8) out[blockIdx.x * 8 + i] = all;
  cluster.sync();
}

TEST_F(Clusters, WaitForBlocksThatDoMore) {
  const int threads = 256, sum = threads * (threads - 1) / 2;
  EXPECT_EQ(result_of<int>(3 * 8 * 8,
                           [=](int* out) {
                             CHECK_CUDA(launch({24, threads, 8}, uneven, out));
                           }),
            generate(3 * 8 * 8, [=](int i) { return sum + threads * (i % 8); }));
}

/// Only the first warp stays; in the odd blocks, nobody does.
__global__ void leave_early(int* out) {
  __shared__ int mine;
  cluster_group cluster = this_cluster();
  if (threadIdx.x == 0) mine = blockIdx.x;
  if (threadIdx.x >= 32 || blockIdx.x % 2 == 1) return;
  cluster.sync();
  const int other = *cluster.map_shared_rank(&mine, static_cast<int>(cluster.block_rank() + 2) % 4);
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = other;
}

TEST_F(Clusters, WaitForNobodyWhoHasReturned) {
  EXPECT_EQ(result_of<int>(8 * 32,
                           [](int* out) {
                             CHECK_CUDA(launch({8, 100, 4}, leave_early, out));
                           }),
            generate(8 * 32, [](int i) { return i / 32 % 2 == 0 ? i / 32 / 4 * 4 + (i / 32 + 2) % 4 : 0; }));
}

/// Between the halves of the barrier a thread does what concerns no other block.
__global__ void split_barrier(int* out, int steps) {
  __shared__ int from_left[64], from_right[64];
  cluster_group cluster = this_cluster();
  const int i = threadIdx.x, size = cluster.num_blocks(), rank = cluster.block_rank();
  int left = 0, right = 0, private_sum = 0;
  cluster.sync();  // now the others' shared memory exists
  for (int step = 0; step < steps; ++step) {
    cluster.map_shared_rank(from_left, (rank + 1) % size)[i] = rank + step;
    cluster.map_shared_rank(from_right, (rank + size - 1) % size)[i] = rank + step;
    auto token = cluster.barrier_arrive();
    for (int k = 0; k <= i; ++k) private_sum += k % 2;
    __syncthreads();
    cluster.barrier_wait(std::move(token));
    left += from_left[i];
    right += from_right[63 - i];
    cluster.barrier_arrive();
    cluster.barrier_wait();
  }
  out[thread_in_grid()] = 1000 * left + right + private_sum;
}

TEST_F(Clusters, ArriveFirstAndWaitLater) {
  const int steps = 3, cluster = 4;
  EXPECT_EQ(result_of<int>(8 * 64,
                           [=](int* out) {
                             CHECK_CUDA(launch({8, 64, cluster}, split_barrier, out, steps));
                           }),
            generate(8 * 64, [=](int i) {
              const int rank = i / 64 % cluster, thread = i % 64;
              const int left = (rank + cluster - 1) % cluster, right = (rank + 1) % cluster;
              const int step_sum = steps * (steps - 1) / 2;
              return 1000 * (steps * left + step_sum) + steps * right + step_sum + steps * ((thread + 1) / 2);
            }));
}

/// Each block fills its shared memory, and checks that of all others in its cluster.
__global__ void fill_and_check(int* wrong, int ints) {
  extern __shared__ int memory[];
  cluster_group cluster = this_cluster();
  for (int i = threadIdx.x; i < ints; i += blockDim.x) memory[i] = i * 31 + blockIdx.x;
  cluster.sync();
  const int first = blockIdx.x - cluster.block_rank();
  for (int other = 0; other < static_cast<int>(cluster.num_blocks()); ++other) {
    const int* theirs = cluster.map_shared_rank(memory, other);
    for (int i = threadIdx.x; i < ints; i += blockDim.x)
      if (theirs[i] != i * 31 + first + other) atomicAdd(wrong, 1);
  }
  cluster.sync();
  if (threadIdx.x == 0) atomicAdd(wrong + 1, 1);
}

TEST_F(Clusters, SpanMuchSharedMemory) {
  const int bytes = 100 * 1024;
  CHECK_CUDA(cudaFuncSetAttribute(fill_and_check, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  EXPECT_EQ(result_of<int>(2,
                           [=](int* wrong) {
                             CHECK_CUDA(launch({16, 128, 8, bytes}, fill_and_check, wrong, bytes / 4));
                           }),
            std::vector<int>({0, 16}));
}

__global__ void scale(float* values, float factor) { values[thread_in_grid()] *= factor; }

TEST_F(Clusters, RunInTheOrderOfTheirStream) {
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  const auto start = generate(64, [](int i) { return 1.0f * i; });
  auto values = to_device(start);
  for (int i = 0; i < 3; ++i) {
    CHECK_CUDA(launch({4, 16, 2, 0, stream}, scale, values.data(), 3));  // int to float, as in a call
    scale<<<4, 16, 0, stream>>>(values.data(), 0.5f);
  }
  CHECK_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(to_host(values), generate(64, [](int i) { return 3.375f * i; }));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

TEST_F(Clusters, AreSingleBlocksUnlessTheLaunchSaysOtherwise) {
  const std::size_t bytes = 40 * sizeof(int);
  const auto same = generate(3 * 40, [](int i) { return i; });
  EXPECT_EQ(result_of<int>(3 * 40, [=](int* out) { rotate<0><<<3, 40, bytes>>>(out, 4); }), same);
  cudaLaunchConfig_t config{};
  config.gridDim = 3;
  config.blockDim = 40;
  config.dynamicSmemBytes = bytes;
  EXPECT_EQ(result_of<int>(3 * 40, [&](int* out) { CHECK_CUDA(cudaLaunchKernelEx(&config, rotate<0>, out, 4)); }),
            same);
}

__global__ void mirror_with_group(int* out) {
  __shared__ int tile[1024];
  const auto block = cooperative_groups::this_thread_block();
  const int size = block.size(), rank = block.thread_rank();
  tile[rank] = rank;
  block.sync();
  out[thread_in_grid()] = tile[size - 1 - rank];
}

TEST(ThreadBlockGroup, IsTheBlock) {
  EXPECT_EQ(result_of<int>(2 * 60, [](int* out) { mirror_with_group<<<2, dim3(5, 4, 3)>>>(out); }),
            generate(2 * 60, [](int i) { return 59 - i % 60; }));
}

}  // namespace clusters
}  // namespace psflip::PSFLIP_PLATFORM
