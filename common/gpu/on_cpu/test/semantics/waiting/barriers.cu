// __syncthreads and its kin.
#include "gpu/on_cpu/test/semantics/semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace barriers {

const dim3 shapes[] = {1, 2, 31, 32, 33, 100, 1023, 1024, {7, 5, 3}, {16, 16, 4}, {1, 3, 64}};

int size_of(dim3 block) { return block.x * block.y * block.z; }

/// Every thread hands its value to the next one, `steps` times.
__global__ void rotate(int* out, int steps) {
  __shared__ int ring[1024];
  const int i = thread_in_block(), size = blockDim.x * blockDim.y * blockDim.z;
  int value = i;
  for (int step = 0; step < steps; ++step) {
    ring[i] = value;
    __syncthreads();
    value = ring[(i + 1) % size];
    __syncthreads();
  }
  out[thread_in_grid()] = value;
}

TEST(Barriers, InLoopsOfBlocksOfAnyShape) {
  for (const dim3 block : shapes) {
    const int size = size_of(block);
    EXPECT_EQ(result_of<int>(5 * size, [=](int* out) { rotate<<<5, block>>>(out, 7); }),
              generate(5 * size, [=](int i) { return (i % size + 7) % size; }))
        << size << " threads";
  }
}

__global__ void hand_over_in_global_memory(int* between, int* out) {
  const int i = threadIdx.x, first = blockIdx.x * blockDim.x;
  between[first + i] = 3 * i;
  __syncthreads();
  out[first + i] = between[first + blockDim.x - 1 - i];
}

TEST(Barriers, ShowTheBlocksWritesToGlobalMemory) {
  DeviceBuffer<int> between(4 * 256);
  EXPECT_EQ(result_of<int>(4 * 256, [&](int* out) { hand_over_in_global_memory<<<4, 256>>>(between.data(), out); }),
            generate(4 * 256, [](int i) { return 3 * (255 - i % 256); }));
}

/// Warp w leaves after w barriers; the last thread notes how many came to each.
__global__ void leave_warp_by_warp(int* out) {
  const int i = threadIdx.x, last = blockDim.x - 1;
  for (int step = 0; step < i / 32; ++step) {
    const int came = __syncthreads_count(1);
    if (i == last) out[step] = came;
  }
}

TEST(Barriers, WaitForThreadsThatHaveNotReturned) {
  for (const int warps : {2, 3, 32}) {
    EXPECT_EQ(result_of<int>(warps - 1, [=](int* out) { leave_warp_by_warp<<<1, 32 * warps>>>(out); }),
              generate(warps - 1, [=](int w) { return 32 * (warps - 1 - w); }));
  }
}

__global__ void reduce_predicates(int modulus, int value, int* out) {
  const int predicate = thread_in_block() % modulus == 0 ? value : 0;
  int* mine = out + 3 * thread_in_grid();
  mine[0] = __syncthreads_count(predicate);
  mine[1] = __syncthreads_or(predicate) != 0;
  mine[2] = __syncthreads_and(predicate) != 0;
}
__global__ void reduce_nothing(int* out) {
  const int count = __syncthreads_count(0), any = __syncthreads_or(0), all = __syncthreads_and(0);
  if (threadIdx.x == 0) {
    out[0] = count;
    out[1] = any;
    out[2] = all;
  }
}

TEST(Barriers, CountAndCombinePredicates) {
  for (const dim3 block : shapes)
    for (const int modulus : {1, 2, 3, 1000})
      for (const int value : {1, 2, -1}) {
        const int size = size_of(block), count = (size + modulus - 1) / modulus;
        const int expected[] = {count, 1, count == size};
        EXPECT_EQ(result_of<int>(6 * size, [=](int* out) { reduce_predicates<<<2, block>>>(modulus, value, out); }),
                  generate(6 * size, [&](int i) { return expected[i % 3]; }));
      }
  EXPECT_EQ(result_of<int>(3, [](int* out) { reduce_nothing<<<1, 50>>>(out); }), std::vector<int>({0, 0, 0}));
}

/// The textbook sum: a tree in shared memory, then one atomic a block.
__global__ void sum_tree(const int* in, int count, int* total) {
  __shared__ int sum[256];
  const int i = threadIdx.x, site = blockIdx.x * 256 + i;
  sum[i] = site < count ? in[site] : 0;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (i < half) sum[i] += sum[i + half];
    __syncthreads();
  }
  if (i == 0) atomicAdd(total, sum[0]);
}

TEST(Barriers, MakeATreeSumRight) {
  const int count = 10007;
  const auto in = to_device(generate(count, [](int i) { return i % 13; }));
  int expected = 0;
  for (int i = 0; i < count; ++i) expected += i % 13;
  const auto total =
      result_of<int>(1, [&](int* out) { sum_tree<<<(count + 255) / 256, 256>>>(in.data(), count, out); });
  EXPECT_EQ(total[0], expected);
}

}  // namespace barriers
}  // namespace psflip::PSFLIP_PLATFORM
