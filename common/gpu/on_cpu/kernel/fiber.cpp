#include "fiber.hpp"

#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>

namespace cuda_on_cpu {
namespace {

constexpr std::size_t stack_size = sanitized ? 256 * 1024 : 64 * 1024;
constexpr std::size_t cache_line = 64;
// A stack and its guard page are two of the 65530 mappings that Linux gives a process by default.
constexpr std::size_t most_guarded_stacks = 16384;

/// Memory with a guard page below it (a kernel's stack overflow crashes instead of corrupting), its top set off. Where
/// there are too many stacks for guard pages, the rest goes without.
class StaggeredStack {
 public:
  StaggeredStack(std::size_t number, const void** bottom, std::size_t* bytes)
      : guarded_(Fiber::count() < most_guarded_stacks),
        offset_(number * 5 % 61 * cache_line),
        bottom_(bottom),
        bytes_(bytes) {}

  boost::context::stack_context allocate() {
    boost::context::stack_context stack = guarded_ ? guarded_memory_.allocate() : memory_.allocate();
    stack.sp = static_cast<char*>(stack.sp) - offset_;
    stack.size -= offset_;
    *bottom_ = static_cast<char*>(stack.sp) - stack.size;
    *bytes_ = stack.size;
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) {
    stack.sp = static_cast<char*>(stack.sp) + offset_;
    stack.size += offset_;
    if (guarded_)
      guarded_memory_.deallocate(stack);
    else
      memory_.deallocate(stack);
  }

 private:
  boost::context::protected_fixedsize_stack guarded_memory_{stack_size};
  boost::context::fixedsize_stack memory_{stack_size};
  bool guarded_;
  std::size_t offset_;
  const void** bottom_;
  std::size_t* bytes_;
};

}  // namespace

Fiber::Fiber(Work work, void* argument, std::size_t number) : work_(work), argument_(argument) {
  self_ = boost::context::fiber(std::allocator_arg, StaggeredStack(number, &stack_, &stack_bytes_),
                                [this](boost::context::fiber&& host) { return main(std::move(host)); });
#ifdef CUDA_ON_CPU_TSAN
  tsan_ = __tsan_create_fiber(0);
#endif
  count_.fetch_add(1, std::memory_order_relaxed);
}

Fiber::~Fiber() {
  count_.fetch_sub(1, std::memory_order_relaxed);
  ending_ = true;
  resume();
#ifdef CUDA_ON_CPU_TSAN
  __tsan_destroy_fiber(tsan_);
#endif
}

boost::context::fiber Fiber::main(boost::context::fiber&& host) {
#ifdef CUDA_ON_CPU_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &host_stack_, &host_stack_bytes_);
#endif
  host_ = std::move(host);
  while (!ending_) {
    idle_ = false;
    work_(argument_);
    idle_ = true;
    suspend();
  }
#ifdef CUDA_ON_CPU_ASAN
  __sanitizer_start_switch_fiber(nullptr, host_stack_, host_stack_bytes_);  // this stack ends here
#endif
#ifdef CUDA_ON_CPU_TSAN
  __tsan_switch_to_fiber(host_tsan_, 1);
#endif
  return std::move(host_);
}

}  // namespace cuda_on_cpu
