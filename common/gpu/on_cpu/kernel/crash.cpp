#include "crash.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>

#include "block.hpp"
#include "runtime/memory.hpp"
#include "sanitizers.hpp"

namespace cuda_on_cpu {
namespace {

constexpr std::size_t crash_stack_bytes = 64 * 1024;

void explain(int signal, siginfo_t* info, void*) {
  char text[256];
  int length = 0;
  const char* what =
      signal == SIGBUS ? "in memory of another process, which has freed it" : describe_address(info->si_addr);
  if (running_block != nullptr)
    length = std::snprintf(text, sizeof text, "crash: block (%u,%u,%u) thread (%u,%u,%u) touched %p, %s\n",
                           place.block.x, place.block.y, place.block.z, place.thread.x, place.thread.y, place.thread.z,
                           info->si_addr, what);
  else
    length = std::snprintf(text, sizeof text, "crash: host code touched %p, %s\n", info->si_addr, what);
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, static_cast<std::size_t>(length));
  ::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void explain_crashes() {
  if (sanitized) return;
  use_crash_stack();
  for (const int signal : {SIGSEGV, SIGBUS}) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_sigaction = explain;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  }
}

void use_crash_stack() {
  if (sanitized) return;
  static thread_local const auto memory = std::make_unique<char[]>(crash_stack_bytes);
  stack_t stack{};
  stack.ss_sp = memory.get();
  stack.ss_size = crash_stack_bytes;
  sigaltstack(&stack, nullptr);
}

}  // namespace cuda_on_cpu

#ifdef CUDA_ON_CPU_TSAN
extern "C" int __tsan_get_report_mop(void* report, unsigned long index, int* thread, void** address, int* size,
                                     int* write, int* atomic, void** trace, unsigned long trace_size);

/// ThreadSanitizer calls this after each report, on the thread that it is about. It knows heap and threads, but not
/// what they mean in CUDA: which memory the address belongs to is added here.
extern "C" void __tsan_on_report(void* report) {
  int thread = 0, size = 0, write = 0, atomic = 0;
  void *address = nullptr, *trace = nullptr;
  if (__tsan_get_report_mop(report, 0, &thread, &address, &size, &write, &atomic, &trace, 1) == 0) return;
  const auto holds = [address](std::span<const std::byte> memory) {
    return std::less_equal<>{}(memory.data(), address) && std::less<>{}(address, memory.data() + memory.size());
  };
  const cuda_on_cpu::Block* block = cuda_on_cpu::running_block;
  const bool shared =
      block != nullptr && (holds(block->dynamic_shared_memory()) || holds(block->thread_local_memory()));
  const bool device = !shared && cuda_on_cpu::offset_in_array(address);
  std::fprintf(stderr, "the race is in %s memory\n", shared ? "shared" : device ? "device" : "host");
}
#endif
