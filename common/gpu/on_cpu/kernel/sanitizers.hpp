/// What AddressSanitizer and ThreadSanitizer have to be told about fibers. Everything is empty in other builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define CUDA_ON_CPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDA_ON_CPU_ASAN 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define CUDA_ON_CPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUDA_ON_CPU_TSAN 1
#endif
#endif

#ifdef CUDA_ON_CPU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef CUDA_ON_CPU_TSAN
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace cuda_on_cpu {

#if defined(CUDA_ON_CPU_ASAN) || defined(CUDA_ON_CPU_TSAN)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#ifdef CUDA_ON_CPU_TSAN
/// ThreadSanitizer knows a CUDA thread by its fiber: one fiber runs one CUDA thread of a block, and no more.
inline constexpr bool one_thread_per_fiber = true;
#else
inline constexpr bool one_thread_per_fiber = false;
#endif

/// A happens-before edge, from every release() to every later acquire() of the same object.
class SyncPoint {
 public:
#ifdef CUDA_ON_CPU_TSAN
  void release() { __tsan_release(this); }
  void acquire() { __tsan_acquire(this); }
#else
  void release() {}
  void acquire() {}
#endif

 private:
  char address_ = 0;
};

/// While one lives, memory accesses of this CUDA thread are the runtime's own and no part of the kernel: they are
/// kept out of the search for races.
class RuntimeCode {
 public:
#ifdef CUDA_ON_CPU_TSAN
  RuntimeCode() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~RuntimeCode() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  RuntimeCode() {}
#endif
  RuntimeCode(const RuntimeCode&) = delete;
  RuntimeCode& operator=(const RuntimeCode&) = delete;
};

}  // namespace cuda_on_cpu
