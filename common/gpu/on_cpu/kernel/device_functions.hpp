/// What kernels call: indices, barriers, warp operations, atomics, loads and bit operations.
#pragma once

#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "block.hpp"
#include "lone_kernel.hpp"
#include "sanitizers.hpp"
#include "vector_types.hpp"

namespace cuda_on_cpu {

// ---- indices
// threadIdx and blockIdx are values and not variables: CUDA threads take turns on one host thread, so that
// ThreadSanitizer would take the changes of a variable for races. For the same reason these functions are not
// instrumented.
#ifdef CUDA_ON_CPU_TSAN
#define CUDA_ON_CPU_INDEX __attribute__((noinline, no_sanitize_thread)) inline
#else
#define CUDA_ON_CPU_INDEX inline
#endif
CUDA_ON_CPU_INDEX uint3 this_thread() { return place.thread; }
CUDA_ON_CPU_INDEX uint3 this_block() { return place.block; }
CUDA_ON_CPU_INDEX Block& block_of_this_thread() { return *running_block; }
#undef CUDA_ON_CPU_INDEX
#define threadIdx (::cuda_on_cpu::this_thread())
#define blockIdx (::cuda_on_cpu::this_block())
inline constexpr int warpSize = 32;

// ---- block barriers
using Where = std::source_location;
inline void __syncthreads(Where where = Where::current()) { block_of_this_thread().barrier(false, where); }
inline int __syncthreads_count(int predicate, Where where = Where::current()) {
  return block_of_this_thread().barrier(predicate != 0, where);
}
inline int __syncthreads_or(int predicate, Where where = Where::current()) {
  return block_of_this_thread().barrier(predicate != 0, where) != 0;
}
inline int __syncthreads_and(int predicate, Where where = Where::current()) {
  return block_of_this_thread().barrier(predicate == 0, where) == 0;
}

// ---- warp operations
inline void __syncwarp(unsigned mask = 0xffffffffu, Where where = Where::current()) {
  block_of_this_thread().exchange(WarpOperation::sync, mask, 0, where);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, Where where = Where::current()) {
  const WarpValues votes = block_of_this_thread().exchange(WarpOperation::vote, mask, predicate != 0, where);
  unsigned ballot = 0;
  for (unsigned lane = 0; lane < 32; ++lane) ballot |= static_cast<unsigned>(votes.value[lane]) << lane;
  return ballot;
}
inline int __any_sync(unsigned mask, int predicate, Where where = Where::current()) {
  return __ballot_sync(mask, predicate, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, Where where = Where::current()) {
  return __ballot_sync(mask, predicate == 0, where) == 0;
}

inline unsigned __reduce_add_sync(unsigned mask, unsigned value, Where where = Where::current()) {
  const WarpValues values = block_of_this_thread().exchange(WarpOperation::sum, mask, value, where);
  unsigned sum = 0;
  for (const std::uint64_t v : values.value) sum += static_cast<unsigned>(v);
  return sum;
}
inline int __reduce_add_sync(unsigned mask, int value, Where where = Where::current()) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value), where));
}

/// What lane `source` brought; this lane's own value if `source` is not in the mask (on a device: undefined).
template <class T>
T shuffle(unsigned mask, T value, unsigned source, Where where) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "warp shuffles move at most 8 bytes a lane");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  const WarpValues values = block_of_this_thread().exchange(WarpOperation::shuffle, mask, bits, where);
  if (values.lanes >> source & 1)
    std::memcpy(&value, &values.value[source], sizeof(T));
  else if (mask >> source & 1)
    block_of_this_thread().die("shuffles with a lane that has returned", where);
  return value;
}
inline unsigned lane_of_this_thread() { return block_of_this_thread().lane(); }
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, Where where = Where::current()) {
  const unsigned lane = lane_of_this_thread(), w = static_cast<unsigned>(width);
  return shuffle(mask, value, lane / w * w + (static_cast<unsigned>(source) & (w - 1)), where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, Where where = Where::current()) {
  const unsigned lane = lane_of_this_thread(), w = static_cast<unsigned>(width);
  return shuffle(mask, value, lane % w >= delta ? lane - delta : lane, where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, Where where = Where::current()) {
  const unsigned lane = lane_of_this_thread(), w = static_cast<unsigned>(width);
  return shuffle(mask, value, lane % w + delta < w ? lane + delta : lane, where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, Where where = Where::current()) {
  const unsigned lane = lane_of_this_thread(), w = static_cast<unsigned>(width);
  const unsigned source = lane ^ static_cast<unsigned>(lane_mask);
  return shuffle(mask, value, source / w <= lane / w ? source : lane, where);
}

// ---- memory order
inline void __threadfence_block() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }

// ---- a kernel that may begin before the one before it has ended. Here none does, so there is nothing to wait for.
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}

/// Gives the core away for about so long, 1 ms at most. Who waits for another process calls it in the loop.
inline void __nanosleep(unsigned nanoseconds) { sleep_in_kernel(nanoseconds); }

// ---- atomics: relaxed, as CUDA's are; each returns the old value
template <class T, class V>
T atomicAdd(T* address, V value) {
  return std::atomic_ref(*address).fetch_add(static_cast<T>(value), std::memory_order_relaxed);
}
template <std::integral T, class V>
T atomicSub(T* address, V value) {
  return std::atomic_ref(*address).fetch_sub(static_cast<T>(value), std::memory_order_relaxed);
}
template <std::integral T, class V>
T atomicAnd(T* address, V value) {
  return std::atomic_ref(*address).fetch_and(static_cast<T>(value), std::memory_order_relaxed);
}
template <std::integral T, class V>
T atomicOr(T* address, V value) {
  return std::atomic_ref(*address).fetch_or(static_cast<T>(value), std::memory_order_relaxed);
}
template <std::integral T, class V>
T atomicXor(T* address, V value) {
  return std::atomic_ref(*address).fetch_xor(static_cast<T>(value), std::memory_order_relaxed);
}
template <class T, class V>
T atomicExch(T* address, V value) {
  return std::atomic_ref(*address).exchange(static_cast<T>(value), std::memory_order_relaxed);
}
template <std::integral T, class C, class V>
T atomicCAS(T* address, C compare, V value) {
  T expected = static_cast<T>(compare);
  std::atomic_ref(*address).compare_exchange_strong(expected, static_cast<T>(value), std::memory_order_relaxed);
  return expected;
}
template <class T, class Change>
T atomic_change(T* address, Change change) {
  const std::atomic_ref atomic(*address);
  T old = atomic.load(std::memory_order_relaxed);
  while (!atomic.compare_exchange_weak(old, change(old), std::memory_order_relaxed)) {
  }
  return old;
}
template <std::integral T, class V>
T atomicMin(T* address, V value) {
  return atomic_change(address, [v = static_cast<T>(value)](T old) { return v < old ? v : old; });
}
template <std::integral T, class V>
T atomicMax(T* address, V value) {
  return atomic_change(address, [v = static_cast<T>(value)](T old) { return old < v ? v : old; });
}
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return atomic_change(address, [limit](unsigned old) { return old >= limit ? 0 : old + 1; });
}

// ---- loads and stores with a cache hint
template <class T>
T __ldg(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
template <class T>
T __ldcg(const T* address) {
  return *address;
}
template <class T>
T __ldcv(const T* address) {
  return *address;
}
template <class T>
void __stcs(T* address, std::type_identity_t<T> value) {
  *address = value;
}
template <class T>
void __stcg(T* address, std::type_identity_t<T> value) {
  *address = value;
}

// ---- bits and integers
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(std::uint64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31));
}
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
  return reversed;
}
/// The four of the eight bytes of y:x, numbered from the lowest, that the digits of `selector` name (from the lowest).
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 32; i += 8) result |= static_cast<unsigned>(bytes >> (selector >> i / 2 & 7) * 8 & 0xff) << i;
  return result;
}
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  const std::common_type_t<A, B> x = a, y = b;
  return y < x ? y : x;
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  const std::common_type_t<A, B> x = a, y = b;
  return x < y ? y : x;
}

}  // namespace cuda_on_cpu
