// Atomic operations: all threads of a grid on one variable, and what each of them returns.
#include <algorithm>
#include <numeric>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace atomics {

constexpr int blocks = 20, threads = 100, count = blocks * threads;

template <class T>
__global__ void add(T* total) {
  atomicAdd(total, T(thread_in_grid() % 5));
}

template <class T>
void expect_sum() {
  EXPECT_EQ(result_of<T>(1, [](T* total) { add<<<blocks, threads>>>(total); })[0], T(count * 2));
}

TEST(Atomics, AddInEveryType) {
  expect_sum<int>();
  expect_sum<unsigned>();
  expect_sum<unsigned long long>();
  expect_sum<float>();
  expect_sum<double>();
}

__global__ void add_high(unsigned long long* total) { atomicAdd(total, 1ull << 40); }

TEST(Atomics, AddWith64Bits) {
  const auto total = result_of<unsigned long long>(1, [](unsigned long long* t) { add_high<<<blocks, threads>>>(t); });
  EXPECT_EQ(total[0], static_cast<unsigned long long>(count) << 40);
}

__global__ void take_numbers(int* counter, int* numbers) { numbers[thread_in_grid()] = atomicAdd(counter, 1); }

TEST(Atomics, ReturnTheOldValue) {
  DeviceBuffer<int> numbers(count);
  result_of<int>(1, [&](int* counter) { take_numbers<<<blocks, threads>>>(counter, numbers.data()); });
  auto taken = to_host(numbers);
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, generate(count, [](int i) { return i; }));
}

struct Results {
  int sub, least, most, exchanged, locked;
  unsigned all_bits, any_bits, odd_bits, turns, most_unsigned;
  unsigned long long most_long, swapped;
  float last;
};

__global__ void one_of_each(Results* r) {
  const int i = thread_in_grid();
  atomicSub(&r->sub, 2);
  atomicMin(&r->least, 50 - i);
  atomicMax(&r->most, i - 50);
  atomicMax(&r->most_unsigned, i == 7 ? 0xfffffff0u : 3u);
  atomicMax(&r->most_long, 1ull << (i % 50));
  atomicAnd(&r->all_bits, ~(1u << i % 8));
  atomicOr(&r->any_bits, 1u << i % 8);
  atomicXor(&r->odd_bits, 1u << i % 8);
  atomicInc(&r->turns, 6);
  atomicExch(&r->exchanged, 42);
  atomicExch(&r->last, 2.5f);
  for (unsigned long long old = 0, seen;; old = seen) {  // an addition, by compare and swap
    seen = atomicCAS(&r->swapped, old, old + 3);
    if (seen == old) break;
  }
  if (atomicCAS(&r->locked, 0, i + 1) == 0) atomicAdd(&r->locked, 1 << 20);  // one thread only
}

TEST(Atomics, OneOfEach) {
  Results start{};
  start.all_bits = 0xffffffffu;
  start.most = -1000;
  start.least = 1000;
  auto device = to_device(std::vector{start});
  one_of_each<<<blocks, threads>>>(device.data());
  CHECK_CUDA(cudaGetLastError());
  const Results r = to_host(device)[0];
  EXPECT_EQ(r.sub, -2 * count);
  EXPECT_EQ(r.least, 50 - (count - 1));
  EXPECT_EQ(r.most, count - 1 - 50);
  EXPECT_EQ(r.most_unsigned, 0xfffffff0u);
  EXPECT_EQ(r.most_long, 1ull << 49);
  EXPECT_EQ(r.all_bits, 0xffffff00u);
  EXPECT_EQ(r.any_bits, 0xffu);
  EXPECT_EQ(r.odd_bits, count / 8 % 2 == 0 ? 0u : 0xffu);
  EXPECT_EQ(r.turns, unsigned(count % 7));
  EXPECT_EQ(r.exchanged, 42);
  EXPECT_EQ(r.last, 2.5f);
  EXPECT_EQ(r.swapped, 3ull * count);
  EXPECT_EQ(r.locked >> 20, 1);
}

__global__ void histogram(int* out) {
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x * threadIdx.x % 8], 1);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

TEST(Atomics, InSharedMemory) {
  std::vector<int> expected(8);
  for (int i = 0; i < threads; ++i) expected[i * i % 8] += blocks;
  EXPECT_EQ(result_of<int>(8, [](int* out) { histogram<<<blocks, threads>>>(out); }), expected);
}

}  // namespace atomics
}  // namespace psflip::PSFLIP_PLATFORM
