// Shuffles, votes and __syncwarp.
#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace warps {

const dim3 block(8, 12);  // three warps: lanes are numbered through the rows
constexpr int threads = 96, blocks = 2;

__device__ int lane_number() { return thread_in_block() % 32; }

enum Operation { index, up, down, exclusive_or };

template <class T>
__device__ T shuffled(Operation operation, T value, int argument, int width) {
  switch (operation) {
    case index:
      return __shfl_sync(full_mask, value, argument, width);
    case up:
      return __shfl_up_sync(full_mask, value, argument, width);
    case down:
      return __shfl_down_sync(full_mask, value, argument, width);
    default:
      return __shfl_xor_sync(full_mask, value, argument, width);
  }
}

template <class T>
__global__ void shuffle_numbers(Operation operation, int argument, int width, T* out) {
  out[thread_in_grid()] = shuffled(operation, T(1000 + thread_in_grid()), argument, width);
}

/// The lane that CUDA takes the value from.
int source(Operation operation, int lane, int argument, int width) {
  const int first = lane / width * width;
  switch (operation) {
    case index:
      return first + (argument & (width - 1));
    case up:
      return lane - argument >= first ? lane - argument : lane;
    case down:
      return lane + argument < first + width ? lane + argument : lane;
    default:
      return (lane ^ argument) < first + width ? lane ^ argument : lane;  // groups before, but not behind
  }
}

template <class T>
void expect_shuffles(Operation operation, std::vector<int> arguments) {
  for (const int width : {32, 16, 8, 4, 2, 1})
    for (const int argument : arguments) {
      const auto out = result_of<T>(
          threads * blocks, [=](T* o) { shuffle_numbers<T><<<blocks, block>>>(operation, argument, width, o); });
      ASSERT_EQ(out,
                generate(threads * blocks,
                         [=](int i) { return T(1000 + i / 32 * 32 + source(operation, i % 32, argument, width)); }))
          << "operation " << operation << ", argument " << argument << ", width " << width;
    }
}

TEST(Warps, ShuffleByLane) { expect_shuffles<int>(index, {0, 1, 5, 31, 32, 39, -1}); }
TEST(Warps, ShuffleUp) { expect_shuffles<int>(up, {0, 1, 2, 7, 16, 31}); }
TEST(Warps, ShuffleDown) { expect_shuffles<int>(down, {0, 1, 2, 7, 16, 31}); }
TEST(Warps, ShuffleExclusiveOr) { expect_shuffles<int>(exclusive_or, {0, 1, 2, 5, 16, 31}); }
TEST(Warps, ShuffleEveryType) {
  expect_shuffles<unsigned>(up, {1});
  expect_shuffles<float>(up, {1});
  expect_shuffles<double>(down, {3});
  expect_shuffles<long long>(exclusive_or, {4});
  expect_shuffles<unsigned long long>(index, {9});
}

/// The lane to read from may be another for each lane.
__global__ void permute(int* out) { out[threadIdx.x] = __shfl_sync(full_mask, threadIdx.x, threadIdx.x * 7 + 3); }

TEST(Warps, ShuffleAPermutation) {
  EXPECT_EQ(result_of<int>(32, [](int* out) { permute<<<1, 32>>>(out); }),
            generate(32, [](int i) { return (i * 7 + 3) % 32; }));
}

/// Even lanes shuffle among themselves; odd lanes do nothing.
__global__ void shuffle_even_lanes(int* out) {
  const int lane = threadIdx.x;
  int value = -1;
  if (lane % 2 == 0) value = __shfl_xor_sync(0x55555555u, lane, 2);
  out[lane] = value;
}
/// The two halves of each warp at once: one call with two masks, and two calls.
__global__ void vote_in_halves(unsigned* out) {
  const int lane = lane_number();
  const unsigned mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  unsigned* mine = out + 2 * thread_in_grid();
  mine[0] = __ballot_sync(mask, lane % 3 == 0);
  if (lane < 16)
    mine[1] = __ballot_sync(0x0000ffffu, lane % 5 == 0);
  else
    mine[1] = __ballot_sync(0xffff0000u, lane % 5 != 0);
}

TEST(Warps, PartialMasks) {
  EXPECT_EQ(result_of<int>(32, [](int* out) { shuffle_even_lanes<<<1, 32>>>(out); }),
            generate(32, [](int i) { return i % 2 == 0 ? i ^ 2 : -1; }));
}

TEST(Warps, DisjointMasksAtOnce) {
  unsigned thirds = 0, fifths = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (lane % 3 == 0) thirds |= 1u << lane;
    if ((lane % 5 == 0) == (lane < 16)) fifths |= 1u << lane;
  }
  EXPECT_EQ(result_of<unsigned>(2 * threads, [](unsigned* out) { vote_in_halves<<<1, block>>>(out); }),
            generate(2 * threads, [=](int i) {
              return (i % 2 == 0 ? thirds : fifths) & (i / 2 % 32 < 16 ? 0x0000ffffu : 0xffff0000u);
            }));
}

__global__ void vote(int modulus, int rest, unsigned* out) {
  const int predicate = thread_in_grid() % modulus == rest ? 4 : 0;
  unsigned* mine = out + 3 * thread_in_grid();
  mine[0] = __ballot_sync(full_mask, predicate);
  mine[1] = __any_sync(full_mask, predicate) != 0;
  mine[2] = __all_sync(full_mask, predicate) != 0;
}

TEST(Warps, Votes) {
  for (const int modulus : {1, 2, 7, 32, 33, 200}) {
    const auto out =
        result_of<unsigned>(3 * threads * blocks, [=](unsigned* o) { vote<<<blocks, block>>>(modulus, 0, o); });
    for (int i = 0; i < threads * blocks; ++i) {
      unsigned ballot = 0;
      for (int lane = 0; lane < 32; ++lane) ballot |= unsigned((i / 32 * 32 + lane) % modulus == 0) << lane;
      ASSERT_EQ(out[3 * i], ballot);
      ASSERT_EQ(out[3 * i + 1], unsigned(ballot != 0));
      ASSERT_EQ(out[3 * i + 2], unsigned(ballot == full_mask));
    }
  }
}

/// A block of 40 threads: its second warp has 8 lanes.
__global__ void vote_in_part_of_a_warp(unsigned* out) { out[threadIdx.x] = __ballot_sync(full_mask, 1); }

TEST(Warps, TheLastWarpMayBeAPart) {
  EXPECT_EQ(result_of<unsigned>(40, [](unsigned* out) { vote_in_part_of_a_warp<<<1, 40>>>(out); }),
            generate(40, [](int i) { return i < 32 ? full_mask : 0xffu; }));
}

/// Lanes from 20 on return first. The rest name the whole warp, which CUDA allows: returned lanes are not waited for.
__global__ void go_on_without_returned_lanes(int* out) {
  __shared__ int tile[32];
  const int lane = threadIdx.x;
  if (lane >= 20) return;
  tile[lane] = lane;
  __syncwarp();
  const int mirrored = tile[19 - lane];
  const unsigned ballot = __ballot_sync(full_mask, 1);
  const int first = __shfl_sync(full_mask, lane + 5, 0);
  out[lane] = ballot == 0xfffffu && first == 5 ? mirrored : -1;
}

TEST(Warps, DoNotWaitForReturnedLanes) {
  EXPECT_EQ(result_of<int>(20, [](int* out) { go_on_without_returned_lanes<<<1, 32>>>(out); }),
            generate(20, [](int i) { return 19 - i; }));
}

/// Lanes may come to a __syncwarp from different places.
__global__ void meet_from_two_branches(int* out) {
  __shared__ int tile[32];
  const int lane = threadIdx.x;
  if (lane % 2 == 0) {
    tile[lane] = 10 * lane;
    __syncwarp();
  } else {
    tile[lane] = -lane;
    __syncwarp();
  }
  out[lane] = tile[(lane + 1) % 32];
}

TEST(Warps, SyncwarpInTwoBranches) {
  EXPECT_EQ(result_of<int>(32, [](int* out) { meet_from_two_branches<<<1, 32>>>(out); }), generate(32, [](int i) {
              const int next = (i + 1) % 32;
              return next % 2 == 0 ? 10 * next : -next;
            }));
}

/// The usual sum: shuffles in each warp, one value a warp through shared memory, shuffles again. Warps that wait at the
/// barrier and warps that still shuffle are there at the same time.
__global__ void sum_by_shuffles(int* out) {
  __shared__ int sums[32];
  const int i = threadIdx.x;
  int value = i;
  for (int half = 16; half > 0; half /= 2) value += __shfl_down_sync(full_mask, value, half);
  if (i % 32 == 0) sums[i / 32] = value;
  __syncthreads();
  if (i >= 32) return;
  value = i < static_cast<int>(blockDim.x) / 32 ? sums[i] : 0;
  for (int half = 16; half > 0; half /= 2) value += __shfl_xor_sync(full_mask, value, half);
  if (i == 0) out[blockIdx.x] = value;
}

TEST(Warps, SumABlockWithShuffles) {
  for (const int size : {32, 96, 1024})
    EXPECT_EQ(result_of<int>(3, [=](int* out) { sum_by_shuffles<<<3, size>>>(out); }),
              std::vector<int>(3, size * (size - 1) / 2));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__global__ void add_lanes(unsigned mask, int* sums, unsigned* unsigned_sums) {
  const int i = thread_in_grid();
  if (!(mask >> lane_number() & 1)) return;
  sums[i] = __reduce_add_sync(mask, 5 - i);
  unsigned_sums[i] = __reduce_add_sync(mask, 0xfffffff0u + i);
}
#else  // not on these devices
__global__ void add_lanes(unsigned, int*, unsigned*) {}
#endif

TEST(Warps, AddTheirLanes) {
  cudaDeviceProp device;
  CHECK_CUDA(cudaGetDeviceProperties(&device, 0));
  if (device.major < 8) GTEST_SKIP() << "needs compute capability 8.0";
  for (const unsigned mask : {full_mask, 0x0000ffffu, 0x80000001u, 0x00010000u}) {
    DeviceBuffer<unsigned> unsigned_sums(threads);
    CHECK_CUDA(cudaMemset(unsigned_sums.data(), 0, unsigned_sums.bytes()));
    const auto sums =
        result_of<int>(threads, [&](int* out) { add_lanes<<<1, block>>>(mask, out, unsigned_sums.data()); });
    const auto expected = [mask](auto value) {
      return generate(threads, [=](int i) {
        decltype(value(0)) sum = 0;
        for (int lane = 0; lane < 32; ++lane)
          if (mask >> i % 32 & mask >> lane & 1) sum += value(i / 32 * 32 + lane);
        return sum;
      });
    };
    EXPECT_EQ(sums, expected([](int i) { return 5 - i; }));
    EXPECT_EQ(to_host(unsigned_sums), expected([](unsigned i) { return 0xfffffff0u + i; }));
  }
}

}  // namespace warps
}  // namespace psflip::PSFLIP_PLATFORM
