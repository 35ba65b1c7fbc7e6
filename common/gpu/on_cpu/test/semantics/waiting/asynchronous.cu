// Copies that go on by themselves, and barriers at which a thread arrives now and waits later.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700  // elsewhere libcu++ does not compile
#include <cuda/barrier>
#include <cuda/ptx>
#endif
#include <cuda_pipeline.h>

#include <algorithm>
#include <utility>

#include "gpu/on_cpu/test/semantics/semantics.hpp"

#ifdef __CUDACC__  // nvcc warns of every barrier in shared memory, which init() makes
#pragma nv_diag_suppress static_var_with_dynamic_init
#endif

namespace psflip::PSFLIP_PLATFORM {
namespace {

constexpr int threads = 128, blocks = 5, tiles = 7, size = threads * tiles;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
using Barrier = cuda::barrier<cuda::thread_scope_block>;

/// A block reads tile after tile, and writes each mirrored. `ahead` tiles are under way while one is written.
template <class T, int ahead>
__global__ void mirror_in_groups(const T* in, T* out) {
  __shared__ T ring[ahead + 1][threads];
  const int i = threadIdx.x, first = blockIdx.x * size;
  const auto fetch = [&](int tile) {
    if (tile < tiles) __pipeline_memcpy_async(&ring[tile % (ahead + 1)][i], &in[first + tile * threads + i], sizeof(T));
    __pipeline_commit();  // behind the last tile too, with nothing in it
  };
  for (int tile = 0; tile < ahead; ++tile) fetch(tile);
  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + ahead);
    __pipeline_wait_prior(ahead);
    __syncthreads();
    out[first + tile * threads + i] = ring[tile % (ahead + 1)][threads - 1 - i];
    __syncthreads();
  }
}

__global__ void fill_with_zeros(const int4* in, int4* out) {
  __shared__ int4 tile[threads];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(&tile[i], &in[i], sizeof(int4), i % 17);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[i] = tile[i];
}

/// The first warp writes numbers that the others add up; one lane a warp arrives, and all wait by parity.
__global__ void produce_and_consume(int* out) {
  __shared__ Barrier full[2], empty[2];
  __shared__ int numbers[2][32];
  const int i = threadIdx.x, lane = i % 32, warp = i / 32;
  if (i == 0)
    for (int k = 0; k < 2; ++k) {
      init(&full[k], 1);
      init(&empty[k], threads / 32 - 1);
    }
  __syncthreads();
  int sum = 0;
  for (int step = 0; step < 2 * tiles; ++step) {
    const int k = step % 2;
    const bool parity = step / 2 % 2;
    if (warp == 0) {
      empty[k].wait_parity(!parity);  // the first time at once
      numbers[k][lane] = step * 100 + lane;
      __syncwarp();
      if (lane == 0) (void)full[k].arrive();
    } else {
      full[k].wait_parity(parity);
      for (int j = 0; j < 32; ++j) sum += numbers[k][j];
      __syncwarp();
      if (lane == 0) (void)empty[k].arrive();
    }
  }
  out[thread_in_grid()] = sum;
}

/// In each step every thread takes its neighbour's value; between the two halves of a barrier it does something else.
__global__ void rotate_in_two_halves(int* out) {
  extern __shared__ int ring[];
  __shared__ Barrier written, read;
  const int i = threadIdx.x;
  if (i == 0) {
    init(&written, threads);
    init(&read, 2 * threads);
  }
  __syncthreads();
  int value = i;
  for (int step = 0; step < tiles; ++step) {
    ring[i] = value;
    Barrier::arrival_token token = written.arrive();
    const int next = (i + 1) % threads;
    written.wait(std::move(token));
    value = ring[next];
    token = read.arrive(2);
    value += 1;
    read.wait(std::move(token));
  }
  written.arrive_and_wait();
  out[thread_in_grid()] = value;
}

/// A thread drops out in each step; the last notes how many came.
__global__ void drop_out(int* out) {
  __shared__ Barrier barrier;
  __shared__ int came;
  const int i = threadIdx.x;
  if (i == 0) {
    init(&barrier, threads);
    came = 0;
  }
  __syncthreads();
  for (int step = 0; step < i; ++step) {
    atomicAdd(&came, 1);
    barrier.arrive_and_wait();
    if (i == threads - 1) {
      out[blockIdx.x * threads + step] = came;
      came = 0;
    }
    barrier.arrive_and_wait();
  }
  if (i < threads - 1) barrier.arrive_and_drop();
}

/// Every thread copies its part of a tile, for which the barrier waits. Sizes that cp.async does not have, too.
template <class T>
__global__ void mirror_by_barrier(const T* in, T* out) {
  __shared__ T tile[2][threads];
  __shared__ Barrier barrier;
  const int i = threadIdx.x, first = blockIdx.x * size;
  if (i == 0) init(&barrier, threads);
  __syncthreads();
  for (int t = 0; t < tiles; ++t) {
    if (t % 2 == 0)
      cuda::memcpy_async(&tile[t % 2][i], &in[first + t * threads + i], sizeof(T), barrier);
    else
      cuda::memcpy_async(&tile[t % 2][i], &in[first + t * threads + i], cuda::aligned_size_t<sizeof(T)>(sizeof(T)),
                         barrier);
    barrier.arrive_and_wait();
    out[first + t * threads + i] = tile[t % 2][threads - 1 - i];
  }
}

/// One thread copies a whole tile by two transactions.
__global__ void mirror_by_transactions(const int* in, int* out) {
  alignas(16) __shared__ int tile[2][threads];
  __shared__ Barrier barrier;
  const int i = threadIdx.x, first = blockIdx.x * size;
  constexpr int bytes = threads * sizeof(int), half = bytes / 2;
  if (i == 0) {
    init(&barrier, threads);
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);  // those who copy shall see the barrier
  }
  __syncthreads();
  for (int t = 0; t < tiles; ++t) {
    Barrier::arrival_token token;
    if (i == 0) {
      const int* from = in + first + t * threads;
      cuda::device::memcpy_async_tx(tile[t % 2], from, cuda::aligned_size_t<16>(half), barrier);
      cuda::device::memcpy_async_tx(tile[t % 2] + threads / 2, from + threads / 2, cuda::aligned_size_t<16>(half),
                                    barrier);
      cuda::device::barrier_expect_tx(barrier, half);
      token = cuda::device::barrier_arrive_tx(barrier, 1, half);
    } else {
      token = barrier.arrive();
    }
    barrier.wait(std::move(token));
    out[first + t * threads + i] = tile[t % 2][threads - 1 - i];
  }
}
#else  // not on these devices
template <class T, int ahead>
__global__ void mirror_in_groups(const T*, T*) {}
__global__ void fill_with_zeros(const int4*, int4*) {}
__global__ void produce_and_consume(int*) {}
__global__ void rotate_in_two_halves(int*) {}
__global__ void drop_out(int*) {}
template <class T>
__global__ void mirror_by_barrier(const T*, T*) {}
__global__ void mirror_by_transactions(const int*, int*) {}
#endif

class Asynchronous : public testing::Test {
 protected:
  void SetUp() override {
    cudaDeviceProp device;
    CHECK_CUDA(cudaGetDeviceProperties(&device, 0));
    if (device.major < 9) GTEST_SKIP() << "needs compute capability 9.0";
  }
};

/// Launches with numbers as the input; they must come out with each tile mirrored.
template <class T, class Launch>
void expect_mirrored_tiles(Launch launch) {
  const auto make = [](int i) { return static_cast<T>(1 + i * 2654435761u); };
  const auto in = to_device(generate(blocks * size, make));
  EXPECT_EQ(result_of<T>(blocks * size, [&](T* out) { launch(in.data(), out); }),
            generate(blocks * size, [=](int i) { return make(i / threads * threads + threads - 1 - i % threads); }));
}

TEST_F(Asynchronous, GroupsAreDoneWhenTheyAreWaitedFor) {
  using Pair = unsigned long long;
  expect_mirrored_tiles<int>([](auto... in_out) { mirror_in_groups<int, 0><<<blocks, threads>>>(in_out...); });
  expect_mirrored_tiles<int>([](auto... in_out) { mirror_in_groups<int, 1><<<blocks, threads>>>(in_out...); });
  expect_mirrored_tiles<Pair>([](auto... in_out) { mirror_in_groups<Pair, 2><<<blocks, threads>>>(in_out...); });
  expect_mirrored_tiles<Pair>([](auto... in_out) { mirror_in_groups<Pair, 6><<<blocks, threads>>>(in_out...); });
}

TEST_F(Asynchronous, CopiesEndWithZeros) {
  const auto in = to_device(std::vector<int4>(threads, make_int4(-1, -1, -1, -1)));
  const auto out = result_of<int4>(threads, [&](int4* o) { fill_with_zeros<<<1, threads>>>(in.data(), o); });
  for (int i = 0; i < threads; ++i) {
    const int parts[] = {out[i].x, out[i].y, out[i].z, out[i].w};
    for (int part = 0; part < 4; ++part) {
      const int kept = std::clamp(16 - i % 17 - 4 * part, 0, 4);  // bytes of this part
      EXPECT_EQ(static_cast<unsigned>(parts[part]), kept == 4 ? ~0u : (1u << 8 * kept) - 1) << i << " " << part;
    }
  }
}

TEST_F(Asynchronous, BarriersLetOneLaneArriveForItsWarp) {
  int sum = 0;
  for (int step = 0; step < 2 * tiles; ++step) sum += 32 * 100 * step + 32 * 31 / 2;
  EXPECT_EQ(result_of<int>(blocks * threads, [](int* out) { produce_and_consume<<<blocks, threads>>>(out); }),
            generate(blocks * threads, [=](int i) { return i % threads < 32 ? 0 : sum; }));
}

TEST_F(Asynchronous, BarriersHaveTwoHalves) {
  EXPECT_EQ(result_of<int>(blocks * threads,
                           [](int* out) { rotate_in_two_halves<<<blocks, threads, threads * sizeof(int)>>>(out); }),
            generate(blocks * threads, [](int i) { return (i % threads + tiles) % threads + tiles; }));
}

TEST_F(Asynchronous, BarriersDoNotWaitForThoseWhoDroppedOut) {
  EXPECT_EQ(result_of<int>(threads, [](int* out) { drop_out<<<1, threads>>>(out); }),
            generate(threads, [](int step) { return threads - 1 - step; }));
}

TEST_F(Asynchronous, BarriersWaitForCopies) {
  expect_mirrored_tiles<char>([](auto... in_out) { mirror_by_barrier<<<blocks, threads>>>(in_out...); });
  expect_mirrored_tiles<int>([](auto... in_out) { mirror_by_barrier<<<blocks, threads>>>(in_out...); });
  expect_mirrored_tiles<double>([](auto... in_out) { mirror_by_barrier<<<blocks, threads>>>(in_out...); });
}

TEST_F(Asynchronous, BarriersCountTheBytesOfCopies) {
  expect_mirrored_tiles<int>([](auto... in_out) { mirror_by_transactions<<<blocks, threads>>>(in_out...); });
}

}  // namespace
}  // namespace psflip::PSFLIP_PLATFORM
