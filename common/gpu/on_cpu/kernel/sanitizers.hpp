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
void __tsan_read_range_pc(void* address, unsigned long bytes, void* place);
void __tsan_write_range_pc(void* address, unsigned long bytes, void* place);
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

/// In ThreadSanitizer's eyes, who does the asynchronous copies of a CUDA thread: another thread. It knows what that
/// thread did before it began a copy; to know of the copy takes an acquire() of `done`.
class CopyingThread {
 public:
#ifdef CUDA_ON_CPU_TSAN
  CopyingThread() = default;
  CopyingThread(const CopyingThread&) = delete;
  CopyingThread& operator=(const CopyingThread&) = delete;
  ~CopyingThread() {
    if (tsan_ != nullptr) __tsan_destroy_fiber(tsan_);
  }
  /// `place` is the address to which the call returns that began the copy.
  void copies(void* to, const void* from, std::size_t bytes, void* place, SyncPoint& done) {
    if (tsan_ == nullptr) tsan_ = __tsan_create_fiber(0);
    void* const cuda_thread = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_, 0);  // 0: what came before the switch happened before what follows
    __tsan_read_range_pc(const_cast<void*>(from), bytes, place);
    __tsan_write_range_pc(to, bytes, place);
    done.release();
    __tsan_switch_to_fiber(cuda_thread, 1);
  }

 private:
  void* tsan_ = nullptr;
#else
  void copies(void*, const void*, std::size_t, void*, SyncPoint&) {}
#endif
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
