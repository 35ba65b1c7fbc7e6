/// A stack that can be left in the middle of a function and entered again. Boost.Context does the switching.
#pragma once

#include <atomic>
#include <boost/context/fiber.hpp>
#include <cstddef>
#include <utility>

#include "sanitizers.hpp"
#include "vector_types.hpp"

namespace cuda_on_cpu {

/// Runs `work(argument)` each time it is resumed from idle. A fiber stays on the host thread that made it.
class alignas(64) Fiber {
 public:
  using Work = void (*)(void* argument);

  /// `number` staggers the tops of the stacks: with equal tops the hot ends of all stacks fall into the same few cache
  /// sets (up to 27 % slower with 1024 threads a block).
  Fiber(Work work, void* argument, std::size_t number);
  /// The fiber must be idle.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Called by the host thread: runs the fiber until it suspends itself or its work is done.
  void resume();
  /// Called on the fiber: back to the host thread, until the next resume().
  void suspend();
  /// No work is going on: the last call of `work` has returned.
  bool idle() const { return idle_; }
  /// How many there are in the program.
  static std::size_t count() { return count_.load(std::memory_order_relaxed); }

  uint3 thread_index{};  ///< of the CUDA thread that waits on this fiber

 private:
  boost::context::fiber main(boost::context::fiber&& host);

  boost::context::fiber host_, self_;
  Work work_;
  void* argument_;
  bool idle_ = true, ending_ = false;
  static inline std::atomic<std::size_t> count_ = 0;

  // for the sanitizers: the two stacks, and ThreadSanitizer's two contexts
  const void* host_stack_ = nullptr;
  std::size_t host_stack_bytes_ = 0;
  const void* stack_ = nullptr;
  std::size_t stack_bytes_ = 0;
  void* host_fake_stack_ = nullptr;
  void* fake_stack_ = nullptr;
  void* host_tsan_ = nullptr;
  void* tsan_ = nullptr;
};

// Inline, because every return behind a switch of stacks is one that the processor predicts wrongly.
inline void Fiber::resume() {
#ifdef CUDA_ON_CPU_ASAN
  __sanitizer_start_switch_fiber(&host_fake_stack_, stack_, stack_bytes_);
#endif
#ifdef CUDA_ON_CPU_TSAN
  host_tsan_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_, 1);  // 1: the switch itself orders nothing
#endif
  self_ = std::move(self_).resume();
#ifdef CUDA_ON_CPU_ASAN
  __sanitizer_finish_switch_fiber(host_fake_stack_, nullptr, nullptr);
#endif
}

inline void Fiber::suspend() {
#ifdef CUDA_ON_CPU_ASAN
  __sanitizer_start_switch_fiber(&fake_stack_, host_stack_, host_stack_bytes_);
#endif
#ifdef CUDA_ON_CPU_TSAN
  __tsan_switch_to_fiber(host_tsan_, 1);
#endif
  host_ = std::move(host_).resume();
#ifdef CUDA_ON_CPU_ASAN
  __sanitizer_finish_switch_fiber(fake_stack_, &host_stack_, &host_stack_bytes_);
#endif
}

}  // namespace cuda_on_cpu
