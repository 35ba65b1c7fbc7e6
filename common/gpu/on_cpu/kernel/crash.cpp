#include "crash.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

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
