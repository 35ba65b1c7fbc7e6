// What code calls that GCC compiled with -fsanitize=thread and -fsanitize-coverage=trace-pc,trace-cmp.
// ThreadSanitizer's library is not there; these record.
#include <cstddef>
#include <cstdint>

#include "recorder.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier,bugprone-macro-parentheses): the compiler chose the names
namespace {

using cuda_on_cpu::counters::Kind;
using cuda_on_cpu::counters::record;
using cuda_on_cpu::counters::record_basic_block;
using cuda_on_cpu::counters::record_comparison;
using cuda_on_cpu::counters::record_range;

std::uintptr_t number(const volatile void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

// A call returns to behind the place that called; one byte before that still is the same source line.
#define PLACE (number(__builtin_return_address(0)) - 1)

#define ACCESSES(bytes)                                                                             \
  void __tsan_read##bytes(void* p) { record(Kind::load, PLACE, number(p), bytes); }                 \
  void __tsan_write##bytes(void* p) { record(Kind::store, PLACE, number(p), bytes); }               \
  void __tsan_unaligned_read##bytes(void* p) { record_range(Kind::load, PLACE, number(p), bytes); } \
  void __tsan_unaligned_write##bytes(void* p) { record_range(Kind::store, PLACE, number(p), bytes); }

// GCC leaves the operation itself to the callback.
#define CHANGE(bits, T, name)                                   \
  T __tsan_atomic##bits##_##name(volatile T* p, T value, int) { \
    record(Kind::atomic, PLACE, number(p), bits / 8);           \
    return __atomic_##name(p, value, __ATOMIC_SEQ_CST);         \
  }
#define COMPARE(bits, T, name)                                                                         \
  bool __tsan_atomic##bits##_compare_exchange_##name(volatile T* p, T* expected, T value, int, int) {  \
    record(Kind::atomic, PLACE, number(p), bits / 8);                                                  \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define ATOMICS(bits, T)                                          \
  T __tsan_atomic##bits##_load(const volatile T* p, int) {        \
    record(Kind::load, PLACE, number(p), bits / 8);               \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                  \
  }                                                               \
  void __tsan_atomic##bits##_store(volatile T* p, T value, int) { \
    record(Kind::store, PLACE, number(p), bits / 8);              \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                 \
  }                                                               \
  T __tsan_atomic##bits##_exchange(volatile T* p, T value, int) { \
    record(Kind::atomic, PLACE, number(p), bits / 8);             \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);       \
  }                                                               \
  CHANGE(bits, T, fetch_add)                                      \
  CHANGE(bits, T, fetch_sub)                                      \
  CHANGE(bits, T, fetch_and)                                      \
  CHANGE(bits, T, fetch_or)                                       \
  CHANGE(bits, T, fetch_xor)                                      \
  COMPARE(bits, T, strong)                                        \
  COMPARE(bits, T, weak)

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* p, std::size_t bytes) { record_range(Kind::load, PLACE, number(p), bytes); }
void __tsan_write_range(void* p, std::size_t bytes) { record_range(Kind::store, PLACE, number(p), bytes); }
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
ATOMICS(8, std::uint8_t)
ATOMICS(16, std::uint16_t)
ATOMICS(32, std::uint32_t)
ATOMICS(64, std::uint64_t)

void __sanitizer_cov_trace_pc() { record_basic_block(PLACE); }
void __sanitizer_cov_trace_cmp1(std::uint8_t, std::uint8_t) { record_comparison(PLACE); }
void __sanitizer_cov_trace_cmp2(std::uint16_t, std::uint16_t) { record_comparison(PLACE); }
void __sanitizer_cov_trace_cmp4(std::uint32_t, std::uint32_t) { record_comparison(PLACE); }
void __sanitizer_cov_trace_cmp8(std::uint64_t, std::uint64_t) { record_comparison(PLACE); }
void __sanitizer_cov_trace_const_cmp1(std::uint8_t, std::uint8_t) { record_comparison(PLACE); }
void __sanitizer_cov_trace_const_cmp2(std::uint16_t, std::uint16_t) { record_comparison(PLACE); }
void __sanitizer_cov_trace_const_cmp4(std::uint32_t, std::uint32_t) { record_comparison(PLACE); }
void __sanitizer_cov_trace_const_cmp8(std::uint64_t, std::uint64_t) { record_comparison(PLACE); }
void __sanitizer_cov_trace_cmpf(float, float) { record_comparison(PLACE); }
void __sanitizer_cov_trace_cmpd(double, double) { record_comparison(PLACE); }
void __sanitizer_cov_trace_switch(std::uint64_t, void*) { record_comparison(PLACE); }
}
// NOLINTEND(bugprone-reserved-identifier,bugprone-macro-parentheses)
