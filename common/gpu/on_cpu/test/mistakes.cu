// Wrong kernels, each the twin of a right one, for the tools of the CPU path to find.
//
//   mistakes NAME right|wrong    prints `same` or `WRONG RESULT`, or dies of its mistake
//
// What is expected is computed by the host, one thread, no CUDA. mistakes_test.py knows what each tool must say about
// each mistake; the lines that it must name are those that end in `// NAME`, or in `// NAME: PART` if it names a part.

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda/atomic>
#include <cuda/barrier>

#include <cstdio>
#include <cstring>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/check.hpp"

namespace {

constexpr int threads = 128, blocks = 8, sites = threads * blocks, blocks_in_cluster = 4, tiles = 3;
using cooperative_groups::cluster_group;
using cooperative_groups::this_cluster;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

// ---- barriers

template <bool right>
__global__ void no_barrier(const int* in, int* out) {
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  tile[i] = in[site];  // no_barrier
  if constexpr (right) __syncthreads();
  out[site] = i > 0 ? tile[i - 1] : -1;  // no_barrier
}

template <bool right>
__global__ void tree_loop(const int* in, int* out) {
  __shared__ int sum[threads];
  const int i = threadIdx.x;
  sum[i] = in[blockIdx.x * threads + i];
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (i < half) sum[i] += sum[i + half];  // tree_loop
    if constexpr (right) __syncthreads();
  }
  if (i == 0) out[blockIdx.x] = sum[0];
}

template <bool right>
__global__ void write_after_read(const int* in, int* out) {
  __shared__ int ring[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  ring[i] = in[site];
  __syncthreads();
  const int sum = ring[i] + ring[(i + 1) % threads];  // write_after_read
  if constexpr (right) __syncthreads();
  ring[i] = sum;  // write_after_read
  __syncthreads();
  out[site] = ring[i];
}

template <bool right>
__global__ void divergent_barrier(const int* in, int* out) {
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  if constexpr (right) {
    tile[i] = i < 64 ? in[site] : -in[site];
    __syncthreads();
  } else if (i < 64) {
    tile[i] = in[site];
    __syncthreads();  // divergent_barrier
  } else {
    tile[i] = -in[site];
    __syncthreads();  // divergent_barrier
  }
  out[site] = tile[threads - 1 - i];
}

// ---- warps

template <bool right>
__global__ void warp_synchronous(const int* in, int* out) {
  __shared__ int sum[threads];
  const int i = threadIdx.x, lane = i % 32;
  sum[i] = in[blockIdx.x * threads + i];
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    if (lane < half) sum[i] += sum[i + half];  // warp_synchronous
    if constexpr (right) __syncwarp();
  }
  if (lane == 0) out[(blockIdx.x * threads + i) / 32] = sum[i];
}

template <bool right>
__global__ void no_warp_barrier(const int* in, int* out) {
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  tile[i] = 0;
  __syncwarp();
  tile[i] = in[site];  // no_warp_barrier
  if constexpr (right) __syncwarp();
  out[site] = i % 32 > 0 ? tile[i - 1] : -1;  // no_warp_barrier
}

template <bool right>
__global__ void missing_lane(const int* in, int* out) {
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  int next = -1;
  if (right || i % 32 != 7) next = __shfl_down_sync(0xffffffffu, in[site], 1);  // missing_lane
  __syncthreads();                                                              // missing_lane
  out[site] = next;
}

template <bool right>
__global__ void returned_lane(const int* in, int* out) {
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  if (!right && i % 32 == 31) {
    out[site] = in[site];
    return;
  }
  out[site] = __shfl_down_sync(0xffffffffu, in[site], 1);  // returned_lane
}

template <bool right>
__global__ void left_out_of_mask(const int* in, int* out) {
  const int site = blockIdx.x * threads + threadIdx.x;
  const unsigned mask = right ? 0xffffffffu : 0x7fffffffu;
  out[site] = __shfl_down_sync(mask, in[site], 1);  // left_out_of_mask
}

template <bool right>
__global__ void two_operations(const int* in, int* out) {
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  if (right || i % 32 < 16)
    out[site] = __shfl_down_sync(0xffffffffu, in[site], 1);  // two_operations
  else
    out[site] = __any_sync(0xffffffffu, in[site]);  // two_operations
}

// ---- clusters

template <bool right>
__global__ void cluster_no_barrier(const int* in, int* out) {
  extern __shared__ int tile[];
  const cluster_group cluster = this_cluster();
  const int i = threadIdx.x, site = blockIdx.x * threads + i, rank = cluster.block_rank();
  tile[i] = in[site];  // cluster_no_barrier
  if constexpr (right) cluster.sync();
  out[site] = rank > 0 ? cluster.map_shared_rank(tile, rank - 1)[i] : -1;  // cluster_no_barrier
  cluster.sync();
}

template <bool right>
__global__ void cluster_left_early(const int* in, int* out) {
  extern __shared__ int tile[];
  const cluster_group cluster = this_cluster();
  const int i = threadIdx.x, site = blockIdx.x * threads + i, rank = cluster.block_rank();
  tile[i] = in[site];
  cluster.sync();
  out[site] = rank > 0 ? cluster.map_shared_rank(tile, rank - 1)[i] : -1;  // cluster_left_early
  if constexpr (right) cluster.sync();
}

template <bool right>
__global__ void cluster_divergent(const int* in, int* out) {
  extern __shared__ int tile[];
  const cluster_group cluster = this_cluster();
  const int i = threadIdx.x, site = blockIdx.x * threads + i, rank = cluster.block_rank();
  tile[i] = in[site];
  if (right || rank % 2 == 0)
    cluster.sync();  // cluster_divergent
  else
    cluster.sync();  // cluster_divergent
  out[site] = rank > 0 ? cluster.map_shared_rank(tile, rank - 1)[i] : -1;
  cluster.sync();
}

template <bool right>
__global__ void cluster_deadlock(const int* in, int* out) {
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  if (right || i < 64) __syncthreads();  // cluster_deadlock
  this_cluster().sync();                 // cluster_deadlock
  out[site] = in[site];
}

template <bool right>
__global__ void cluster_half_barrier(const int* in, int* out) {
  const int site = blockIdx.x * threads + threadIdx.x;
  this_cluster().barrier_arrive();
  if constexpr (right) this_cluster().barrier_wait();
  this_cluster().barrier_arrive();  // cluster_half_barrier
  this_cluster().barrier_wait();
  out[site] = in[site];
}

template <bool right>
__global__ void cluster_wait_alone(const int* in, int* out) {
  const int site = blockIdx.x * threads + threadIdx.x;
  if constexpr (right) this_cluster().barrier_arrive();
  this_cluster().barrier_wait();  // cluster_wait_alone
  out[site] = in[site];
}

__device__ int letters[blocks];

template <bool right>
__global__ void grid_no_letter(const int* in, int* out) {
  using Letter = cuda::atomic_ref<int, cuda::thread_scope_device>;
  const int block = blockIdx.x, site = block * threads + threadIdx.x;
  if (threadIdx.x == 0) {
    if (right || block < blocks - 1) Letter(letters[block]).store(1, cuda::memory_order_relaxed);
    while (Letter(letters[(block + 1) % blocks]).load(cuda::memory_order_relaxed) == 0) {  // grid_no_letter
    }
  }
  __syncthreads();  // grid_no_letter
  out[site] = in[site];
}

template <bool right>
__global__ void cluster_no_such_block(const int* in, int* out) {
  extern __shared__ int tile[];
  const cluster_group cluster = this_cluster();
  const int i = threadIdx.x, site = blockIdx.x * threads + i, rank = cluster.block_rank();
  tile[i] = in[site];
  cluster.sync();
  out[site] = !right || rank > 0 ? cluster.map_shared_rank(tile, rank - 1)[i] : -1;  // cluster_no_such_block
  cluster.sync();
}

template <bool right>
__global__ void cluster_local_variable(const int* in, int* out) {
  __shared__ int tile[threads];
  const cluster_group cluster = this_cluster();
  const int i = threadIdx.x, site = blockIdx.x * threads + i, rank = cluster.block_rank();
  int local = in[site];
  tile[i] = local;
  cluster.sync();
  int* mine = right ? &tile[i] : &local;
  out[site] = rank > 0 ? *cluster.map_shared_rank(mine, rank - 1) : -1;  // cluster_local_variable
  cluster.sync();
}

// ---- asynchronous copies

template <bool right>
__global__ void copy_no_wait(const int* in, int* out) {
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  __pipeline_memcpy_async(&tile[i], &in[site], sizeof(int));  // copy_no_wait: begins
  __pipeline_commit();
  if constexpr (right) __pipeline_wait_prior(0);
  __syncthreads();
  out[site] = tile[threads - 1 - i];  // copy_no_wait: reads
}

template <bool right>
__global__ void copy_no_commit(const int* in, int* out) {
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  __pipeline_memcpy_async(&tile[i], &in[site], sizeof(int));  // copy_no_commit: begins
  if constexpr (right) __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[site] = tile[threads - 1 - i];  // copy_no_commit: reads
}

template <bool right>
__global__ void copy_wait_before_commit(const int* in, int* out) {
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  __pipeline_memcpy_async(&tile[i], &in[site], sizeof(int));  // copy_wait_before_commit: begins
  if constexpr (right) __pipeline_commit();
  __pipeline_wait_prior(0);
  if constexpr (!right) __pipeline_commit();
  __syncthreads();
  out[site] = tile[threads - 1 - i];  // copy_wait_before_commit: reads
}

/// Each copy is waited for at last, but too late for the tile that it brings.
template <bool right>
__global__ void copy_wrong_group(const int* in, int* out) {
  __shared__ int ring[tiles][threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_memcpy_async(&ring[tile][i], &in[(site + tile * threads) % sites], 4);  // copy_wrong_group: begins
    __pipeline_commit();
  }
  __pipeline_wait_prior(right ? tiles - 2 : tiles - 1);
  __syncthreads();
  const int sum = ring[0][threads - 1 - i] + ring[1][threads - 1 - i];  // copy_wrong_group: reads
  __pipeline_wait_prior(0);
  __syncthreads();
  out[site] = sum;
}

/// Two tiles in turn: one is read, the other is on its way.
template <bool right>
__global__ void copy_too_early(const int* in, int* out) {
  __shared__ int ring[2][threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  const auto fetch = [&](int tile) {
    __pipeline_memcpy_async(&ring[tile % 2][i], &in[(site + tile * threads) % sites], 4);  // copy_too_early: begins
    __pipeline_commit();
  };
  fetch(0);
  int sum = 0;
  for (int tile = 0; tile < 2; ++tile) {
    fetch(tile + 1);
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += ring[tile % 2][threads - 1 - i];  // copy_too_early: reads
    if constexpr (right) __syncthreads();
  }
  __pipeline_wait_prior(0);
  out[site] = sum;
}

template <bool right>
__global__ void copy_twice(const int* in, int* out) {
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  __pipeline_memcpy_async(&tile[i], &in[(site + 1) % sites], sizeof(int));  // copy_twice
  __pipeline_commit();
  if constexpr (right) __pipeline_wait_prior(0);
  __pipeline_memcpy_async(&tile[i], &in[site], sizeof(int));  // copy_twice
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[site] = tile[i];
}

/// A thread waits for its own copies, and for nobody else's.
template <bool right>
__global__ void copy_no_barrier(const int* in, int* out) {
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  __pipeline_memcpy_async(&tile[i], &in[site], sizeof(int));  // copy_no_barrier
  __pipeline_commit();
  __pipeline_wait_prior(0);
  if constexpr (right) __syncthreads();
  out[site] = i > 0 ? tile[i - 1] : -1;  // copy_no_barrier
}

template <bool right>
__global__ void copy_misaligned(const int* in, int* out) {
  alignas(8) __shared__ int tile[threads + 2];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  if (i % 2 == 0) __pipeline_memcpy_async(&tile[right ? i : i + 1], &in[site], 8);  // copy_misaligned
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[site] = tile[right ? i : i + 1];
}

template <bool right>
__global__ void copy_of_two_bytes(const int* in, int* out) {
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  tile[i] = 0;
  __pipeline_memcpy_async(&tile[i], &in[site], right ? 4 : 2);  // copy_of_two_bytes
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[site] = tile[i];
}

// ---- barriers with phases

template <bool right>
__global__ void phase_no_init(const int* in, int* out) {
  __shared__ Barrier barrier;
  const int site = blockIdx.x * threads + threadIdx.x;
  if (threadIdx.x == 0) init(&barrier, threads);  // phase_no_init: writes
  if constexpr (right) __syncthreads();
  barrier.arrive_and_wait();  // phase_no_init: uses
  out[site] = in[site];
}

template <bool right>
__global__ void phase_no_wait(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  if (i == 0) init(&barrier, threads);
  __syncthreads();
  tile[i] = in[site];  // phase_no_wait
  Barrier::arrival_token token = barrier.arrive();
  if constexpr (right) barrier.wait(std::move(token));
  out[site] = i > 0 ? tile[i - 1] : -1;  // phase_no_wait
}

/// The last warp makes what the others need.
template <bool right>
__global__ void phase_wrong_parity(const int* in, int* out) {
  __shared__ Barrier made;
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  if (i == 0) init(&made, 1);
  __syncthreads();
  if (i >= threads - 32) {
    for (int k = i % 32; k < threads; k += 32) tile[k] = in[site - i + k];  // phase_wrong_parity: writes
    __syncwarp();
    if (i % 32 == 0) (void)made.arrive();
  } else {
    made.wait_parity(!right);  // phase_wrong_parity: waits
  }
  out[site] = i < threads - 32 ? tile[i] : in[site];  // phase_wrong_parity: reads
}

/// One lane is to arrive for its warp.
template <bool right>
__global__ void phase_every_lane(const int* in, int* out) {
  __shared__ Barrier written;
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  if (i == 0) init(&written, threads / 32);
  __syncthreads();
  tile[i] = in[site];  // phase_every_lane: writes
  __syncwarp();
  if (!right || i % 32 == 0) (void)written.arrive();
  written.wait_parity(false);         // phase_every_lane: waits
  out[site] = tile[threads - 1 - i];  // phase_every_lane: reads
}

template <bool right>
__global__ void phase_deadlock(const int* in, int* out) {
  __shared__ Barrier barrier;
  const int site = blockIdx.x * threads + threadIdx.x;
  if (threadIdx.x == 0) init(&barrier, right ? threads : threads + 2);
  __syncthreads();
  barrier.arrive_and_wait();  // phase_deadlock
  out[site] = in[site];
}

template <bool right>
__global__ void phase_missing_bytes(const int* in, int* out) {
  __shared__ Barrier barrier;
  alignas(16) __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  if (i == 0) init(&barrier, 1);
  __syncthreads();
  if (i == 0) {
    constexpr std::size_t bytes_of_tile = threads * sizeof(int);
    cuda::device::memcpy_async_tx(tile, &in[site], cuda::aligned_size_t<16>(bytes_of_tile), barrier);
    (void)cuda::device::barrier_arrive_tx(barrier, 1, right ? bytes_of_tile : bytes_of_tile + 16);
  }
  barrier.wait_parity(false);  // phase_missing_bytes
  out[site] = tile[i];
}

/// The barrier of the block does not wait for a copy that belongs to another.
template <bool right>
__global__ void phase_other_barrier(const int* in, int* out) {
  __shared__ Barrier barrier;
  __shared__ int tile[threads];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  if (i == 0) init(&barrier, threads);
  __syncthreads();
  cuda::memcpy_async(&tile[i], &in[site], sizeof(int), barrier);  // phase_other_barrier: begins
  if constexpr (right)
    barrier.arrive_and_wait();
  else
    __syncthreads();
  out[site] = i > 0 ? tile[i - 1] : -1;  // phase_other_barrier: reads
}

// ---- memory

template <bool right>
__global__ void counter(const int* in, int* out) {
  __shared__ int odd;
  if (threadIdx.x == 0) odd = 0;
  __syncthreads();
  if (in[blockIdx.x * threads + threadIdx.x] % 2 != 0) {
    if constexpr (right)
      atomicAdd(&odd, 1);
    else
      ++odd;  // counter
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = odd;
}

/// A chain of 0 and 1 with fixed ends; each site takes the majority of itself and its neighbours.
__global__ void update_chain(const int* now, int* next) {
  const int site = blockIdx.x * threads + threadIdx.x;
  if (site == 0 || site == sites - 1) return;
  const int sum = now[site - 1] + now[site] + now[site + 1];  // in_place
  next[site] = sum > 1;                                       // in_place
}

template <bool right>
__global__ void global_overrun(const int* in, int* out) {
  const int site = blockIdx.x * threads + threadIdx.x;
  if (!right || site < sites) out[site] = in[site % sites];  // global_overrun
}

/// The array lies in a structure, so that what is overwritten is known: alone, it could be anything.
template <bool right>
__global__ void static_shared_overrun(const int* in, int* out) {
  __shared__ struct { int tile[threads], victim[threads]; } shared;
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  shared.tile[right ? i : i + 1] = in[site];  // static_shared_overrun
  __syncthreads();
  out[site] = shared.tile[i];
}

template <bool right>
__global__ void dynamic_shared_overrun(const int* in, int* out) {
  extern __shared__ int tile[];
  const int i = threadIdx.x, site = blockIdx.x * threads + i;
  tile[right ? i : i + 1] = in[site];  // dynamic_shared_overrun
  __syncthreads();
  out[site] = tile[i];
}

template <bool right>
__global__ void unwritten_shared(const int* in, int* out) {
  extern __shared__ int odd[];
  if (right && threadIdx.x == 0) odd[0] = 0;
  __syncthreads();
  if (in[blockIdx.x * threads + threadIdx.x] % 2 != 0) atomicAdd(&odd[0], 1);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = odd[0];
}

template <bool right>
__global__ void texture_of_bytes(cudaTextureObject_t bytes, int* out) {
  const int site = blockIdx.x * threads + threadIdx.x;
  if constexpr (right)
    out[site] = tex1Dfetch<unsigned char>(bytes, site * static_cast<int>(sizeof(int)));
  else
    out[site] = tex1Dfetch<int>(bytes, site);  // texture_type
}

__global__ void count_odd(const int* in, int* odd) {
  if (in[blockIdx.x * threads + threadIdx.x] % 2 != 0) atomicAdd(&odd[blockIdx.x], 1);
}

__global__ void copy(const int* in, int* out) {
  const int site = blockIdx.x * threads + threadIdx.x;
  out[site] = in[site];
}

__global__ void add(const int* in, int value, int* out) {
  const int site = blockIdx.x * threads + threadIdx.x;
  out[site] = in[site] + value;
}

// ---- how they are run

using Sites = std::vector<int>;
constexpr std::size_t bytes = sites * sizeof(int);

struct DeviceArrays {
  int *in = nullptr, *out = nullptr;

  explicit DeviceArrays(const Sites& input) {
    CHECK_CUDA(cudaMalloc(&in, bytes));
    CHECK_CUDA(cudaMalloc(&out, bytes));
    CHECK_CUDA(cudaMemcpy(in, input.data(), bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemset(out, 0, bytes));
  }
  Sites result() const {
    CHECK_CUDA(cudaGetLastError());
    Sites all(sites);
    CHECK_CUDA(cudaMemcpy(all.data(), out, bytes, cudaMemcpyDeviceToHost));
    return all;
  }
};

template <auto kernel, int grid = blocks>
Sites run(const Sites& input) {
  const DeviceArrays device(input);
  kernel<<<grid, threads, threads * sizeof(int)>>>(device.in, device.out);
  return device.result();
}

template <auto kernel>
Sites run_with(cudaLaunchAttribute attribute, const Sites& input) {
  const DeviceArrays device(input);
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = threads * sizeof(int);
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK_CUDA(cudaLaunchKernelEx(&config, kernel, device.in, device.out));
  return device.result();
}

template <auto kernel>
Sites run_clusters(const Sites& input) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = blocks_in_cluster;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  return run_with<kernel>(attribute, input);
}

template <auto kernel>
Sites run_together(const Sites& input) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  return run_with<kernel>(attribute, input);
}

template <bool right>
Sites in_place(const Sites& input) {
  const DeviceArrays device(input);
  CHECK_CUDA(cudaMemcpy(device.out, input.data(), bytes, cudaMemcpyHostToDevice));
  update_chain<<<blocks, threads>>>(right ? device.in : device.out, device.out);
  return device.result();
}

template <bool right>
Sites texture_type(const Sites& input) {
  const DeviceArrays device(input);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {device.in, cudaCreateChannelDesc<unsigned char>(), bytes};
  cudaTextureDesc description{};
  cudaTextureObject_t texture;
  CHECK_CUDA(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  texture_of_bytes<right><<<blocks, threads>>>(texture, device.out);
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaDestroyTextureObject(texture));
  return device.result();
}

/// The result lies on device 1; a kernel of device 0 writes it.
template <bool right>
Sites other_device(const Sites& input) {
  CHECK_CUDA(cudaSetDevice(1));
  const DeviceArrays there(input);
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaSetDevice(0));
  const DeviceArrays here(input);
  if constexpr (right) CHECK_CUDA(cudaDeviceEnablePeerAccess(1, 0));
  copy<<<blocks, threads>>>(here.in, there.out);
  CHECK_CUDA(cudaDeviceSynchronize());
  return there.result();
}

template <bool right>
Sites host_reads(const Sites& input) {
  const DeviceArrays device(input);
  copy<<<blocks, threads>>>(device.in, device.out);
  CHECK_CUDA(cudaDeviceSynchronize());
  return right ? device.result() : Sites(device.out, device.out + sites);
}

template <bool right>
Sites host_writes(const Sites& input) {
  const DeviceArrays device(Sites(sites, -1));
  CHECK_CUDA(cudaDeviceSynchronize());
  if constexpr (right)
    CHECK_CUDA(cudaMemcpy(device.in, input.data(), bytes, cudaMemcpyHostToDevice));
  else
    std::memcpy(device.in, input.data(), bytes);
  copy<<<blocks, threads>>>(device.in, device.out);
  return device.result();
}

template <bool right>
Sites no_stream_sync(const Sites& input) {
  const DeviceArrays device(input);
  cudaStream_t stream;
  int* pinned;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaMallocHost(&pinned, bytes));
  std::memset(pinned, 0, bytes);
  copy<<<blocks, threads, 0, stream>>>(device.in, device.out);
  CHECK_CUDA(cudaMemcpyAsync(pinned, device.out, bytes, cudaMemcpyDeviceToHost, stream));
  if constexpr (right) CHECK_CUDA(cudaStreamSynchronize(stream));
  return Sites(pinned, pinned + sites);
}

/// cudaMalloc clears nothing.
template <bool right>
Sites unwritten_array(const Sites& input) {
  const DeviceArrays device(input);
  int* odd;
  CHECK_CUDA(cudaMalloc(&odd, bytes));
  if constexpr (right) CHECK_CUDA(cudaMemset(odd, 0, bytes));
  count_odd<<<blocks, threads>>>(device.in, odd);
  copy<<<blocks, threads>>>(odd, device.out);
  return device.result();
}

/// The sites pass from array to array, each time in a stream of its own.
template <bool right>
Sites no_event(const Sites& input) {
  constexpr int copies = 8;
  const DeviceArrays device(input);
  int *from = device.in, *to;
  cudaEvent_t copied;
  CHECK_CUDA(cudaEventCreate(&copied));
  for (int k = 1; k <= copies; ++k, from = to) {
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaMalloc(&to, bytes));
    if (right && k > 1) CHECK_CUDA(cudaStreamWaitEvent(stream, copied));
    copy<<<blocks, threads, 0, stream>>>(from, k < copies ? to : device.out);
    CHECK_CUDA(cudaEventRecord(copied, stream));
  }
  CHECK_CUDA(cudaDeviceSynchronize());
  return device.result();
}

/// What a step of the run over many processes does: one stream makes the sites, the other sends them on.
template <bool told, bool answered>
Sites pass_on(const Sites& input) {
  constexpr int steps = 8;
  const DeviceArrays device(input);
  int *boundary, *pinned;
  cudaStream_t maker, sender;
  cudaEvent_t made, sent;
  CHECK_CUDA(cudaMalloc(&boundary, bytes));
  CHECK_CUDA(cudaMallocHost(&pinned, steps * bytes));
  for (cudaStream_t* stream : {&maker, &sender})
    CHECK_CUDA(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, 0));
  for (cudaEvent_t* event : {&made, &sent}) CHECK_CUDA(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  CHECK_CUDA(cudaMemset(boundary, 0, bytes));
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int step = 0; step < steps; ++step) {
    if (answered) CHECK_CUDA(cudaStreamWaitEvent(maker, sent));
    add<<<blocks, threads, 0, maker>>>(device.in, step, boundary);
    CHECK_CUDA(cudaEventRecord(made, maker));
    if (told) CHECK_CUDA(cudaStreamWaitEvent(sender, made));
    CHECK_CUDA(cudaMemcpyAsync(pinned + step * sites, boundary, bytes, cudaMemcpyDeviceToHost, sender));
    CHECK_CUDA(cudaEventRecord(sent, sender));
  }
  CHECK_CUDA(cudaStreamSynchronize(sender));
  Sites result(pinned, pinned + sites);
  for (int i = 0; i < sites; ++i)
    for (int step = 0; step < steps; ++step)
      if (pinned[step * sites + i] != input[i] + step) result[i] = -1;
  CHECK_CUDA(cudaDeviceSynchronize());
  return result;
}
template <bool right>
Sites reader_too_early(const Sites& input) {
  return pass_on<right, true>(input);
}
template <bool right>
Sites writer_too_early(const Sites& input) {
  return pass_on<true, right>(input);
}

// ---- what is expected at a site; where a mistake has fewer results than sites, the rest stays 0

int sum(const Sites& in, int first, int count) {
  int total = 0;
  for (int i = first; i < first + count; ++i) total += in[i];
  return total;
}
int odd_ones(const Sites& in, int block) {
  int count = 0;
  for (int i = 0; i < threads; ++i) count += in[block * threads + i] % 2;
  return count;
}
int unchanged(const Sites& in, int site) { return in[site]; }
int left_neighbour(const Sites& in, int site) { return site % threads > 0 ? in[site - 1] : -1; }
int left_in_warp(const Sites& in, int site) { return site % 32 > 0 ? in[site - 1] : -1; }
int block_to_the_left(const Sites& in, int site) {
  return site / threads % blocks_in_cluster > 0 ? in[site - threads] : -1;
}
int sum_of_block(const Sites& in, int block) { return block < blocks ? sum(in, block * threads, threads) : 0; }
int sum_of_warp(const Sites& in, int warp) { return warp < sites / 32 ? sum(in, warp * 32, 32) : 0; }
int odd_in_block(const Sites& in, int block) { return block < blocks ? odd_ones(in, block) : 0; }
int sum_with_next(const Sites& in, int site) {
  const int next = site % threads < threads - 1 ? site + 1 : site + 1 - threads;
  return in[site] + in[next];
}
int half_negative(const Sites& in, int site) {
  const int i = site % threads, mirror = site - i + threads - 1 - i;
  return i < 64 ? -in[mirror] : in[mirror];
}
int mirror_image(int site) { return site - site % threads + threads - 1 - site % threads; }
int mirrored(const Sites& in, int site) { return in[mirror_image(site)]; }
int sum_of_two_mirrored(const Sites& in, int site) {
  return mirrored(in, site) + in[(mirror_image(site) + threads) % sites];
}
int next_in_warp(const Sites& in, int site) { return in[site % 32 < 31 ? site + 1 : site]; }
int majority_of_three(const Sites& in, int site) {
  return site == 0 || site == sites - 1 ? in[site] : sum(in, site - 1, 3) > 1;
}

struct Mistake {
  std::string_view name;
  Sites (*right)(const Sites&);
  Sites (*wrong)(const Sites&);
  int (*expected)(const Sites&, int);
};

const Mistake mistakes[] = {
    {"no_barrier", run<no_barrier<true>>, run<no_barrier<false>>, left_neighbour},
    {"tree_loop", run<tree_loop<true>>, run<tree_loop<false>>, sum_of_block},
    {"write_after_read", run<write_after_read<true>>, run<write_after_read<false>>, sum_with_next},
    {"divergent_barrier", run<divergent_barrier<true>>, run<divergent_barrier<false>>, half_negative},
    {"warp_synchronous", run<warp_synchronous<true>>, run<warp_synchronous<false>>, sum_of_warp},
    {"no_warp_barrier", run<no_warp_barrier<true>>, run<no_warp_barrier<false>>, left_in_warp},
    {"missing_lane", run<missing_lane<true>>, run<missing_lane<false>>, next_in_warp},
    {"returned_lane", run<returned_lane<true>>, run<returned_lane<false>>, next_in_warp},
    {"left_out_of_mask", run<left_out_of_mask<true>>, run<left_out_of_mask<false>>, next_in_warp},
    {"two_operations", run<two_operations<true>>, run<two_operations<false>>, next_in_warp},
    {"cluster_no_barrier", run_clusters<cluster_no_barrier<true>>, run_clusters<cluster_no_barrier<false>>,
     block_to_the_left},
    {"cluster_left_early", run_clusters<cluster_left_early<true>>, run_clusters<cluster_left_early<false>>,
     block_to_the_left},
    {"cluster_divergent", run_clusters<cluster_divergent<true>>, run_clusters<cluster_divergent<false>>,
     block_to_the_left},
    {"cluster_deadlock", run_clusters<cluster_deadlock<true>>, run_clusters<cluster_deadlock<false>>, unchanged},
    {"cluster_half_barrier", run_clusters<cluster_half_barrier<true>>, run_clusters<cluster_half_barrier<false>>,
     unchanged},
    {"cluster_wait_alone", run_clusters<cluster_wait_alone<true>>, run_clusters<cluster_wait_alone<false>>, unchanged},
    {"grid_no_letter", run_together<grid_no_letter<true>>, run_together<grid_no_letter<false>>, unchanged},
    {"cluster_no_such_block", run_clusters<cluster_no_such_block<true>>, run_clusters<cluster_no_such_block<false>>,
     block_to_the_left},
    {"cluster_local_variable", run_clusters<cluster_local_variable<true>>, run_clusters<cluster_local_variable<false>>,
     block_to_the_left},
    {"copy_no_wait", run<copy_no_wait<true>>, run<copy_no_wait<false>>, mirrored},
    {"copy_no_commit", run<copy_no_commit<true>>, run<copy_no_commit<false>>, mirrored},
    {"copy_wait_before_commit", run<copy_wait_before_commit<true>>, run<copy_wait_before_commit<false>>, mirrored},
    {"copy_wrong_group", run<copy_wrong_group<true>>, run<copy_wrong_group<false>>, sum_of_two_mirrored},
    {"copy_too_early", run<copy_too_early<true>>, run<copy_too_early<false>>, sum_of_two_mirrored},
    {"copy_twice", run<copy_twice<true>>, run<copy_twice<false>>, unchanged},
    {"copy_no_barrier", run<copy_no_barrier<true>>, run<copy_no_barrier<false>>, left_neighbour},
    {"copy_misaligned", run<copy_misaligned<true>>, run<copy_misaligned<false>>, unchanged},
    {"copy_of_two_bytes", run<copy_of_two_bytes<true>>, run<copy_of_two_bytes<false>>, unchanged},
    {"phase_no_init", run<phase_no_init<true>>, run<phase_no_init<false>>, unchanged},
    {"phase_no_wait", run<phase_no_wait<true>>, run<phase_no_wait<false>>, left_neighbour},
    {"phase_wrong_parity", run<phase_wrong_parity<true>>, run<phase_wrong_parity<false>>, unchanged},
    {"phase_every_lane", run<phase_every_lane<true>>, run<phase_every_lane<false>>, mirrored},
    {"phase_deadlock", run<phase_deadlock<true>>, run<phase_deadlock<false>>, unchanged},
    {"phase_missing_bytes", run<phase_missing_bytes<true>>, run<phase_missing_bytes<false>>, unchanged},
    {"phase_other_barrier", run<phase_other_barrier<true>>, run<phase_other_barrier<false>>, left_neighbour},
    {"counter", run<counter<true>>, run<counter<false>>, odd_in_block},
    {"in_place", in_place<true>, in_place<false>, majority_of_three},
    {"global_overrun", run<global_overrun<true>, blocks + 1>, run<global_overrun<false>, blocks + 1>, unchanged},
    {"static_shared_overrun", run<static_shared_overrun<true>>, run<static_shared_overrun<false>>, unchanged},
    {"dynamic_shared_overrun", run<dynamic_shared_overrun<true>>, run<dynamic_shared_overrun<false>>, unchanged},
    {"unwritten_shared", run<unwritten_shared<true>>, run<unwritten_shared<false>>, odd_in_block},
    {"unwritten_array", unwritten_array<true>, unwritten_array<false>, odd_in_block},
    {"texture_type", texture_type<true>, texture_type<false>, unchanged},
    {"other_device", other_device<true>, other_device<false>, unchanged},
    {"host_reads", host_reads<true>, host_reads<false>, unchanged},
    {"host_writes", host_writes<true>, host_writes<false>, unchanged},
    {"no_stream_sync", no_stream_sync<true>, no_stream_sync<false>, unchanged},
    {"no_event", no_event<true>, no_event<false>, unchanged},
    {"reader_too_early", reader_too_early<true>, reader_too_early<false>, unchanged},
    {"writer_too_early", writer_too_early<true>, writer_too_early<false>, unchanged},
};

/// Zeros and ones without a pattern.
Sites input() {
  Sites all(sites);
  std::minstd_rand random;
  for (int& site : all) site = static_cast<int>(random() >> 16 & 1);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 3 ? argv[1] : "", version = argc == 3 ? argv[2] : "";
  for (const Mistake& mistake : mistakes) {
    if (mistake.name != name || (version != "right" && version != "wrong")) continue;
    const Sites in = input(), result = (version == "right" ? mistake.right : mistake.wrong)(in);
    for (int i = 0; i < sites; ++i) {
      if (result[i] == mistake.expected(in, i)) continue;
      std::puts("WRONG RESULT");
      return 1;
    }
    std::puts("same");
    return 0;
  }
  std::fputs("usage: mistakes NAME right|wrong\n", stderr);
  return 2;
}
