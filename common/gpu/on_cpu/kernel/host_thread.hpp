#pragma once

#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace cuda_on_cpu {

/// Starts a host thread. Throws std::runtime_error, and says what may help, if the system gives none.
template <class F>
std::thread host_thread(F work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& error) {
    throw std::runtime_error("the CPU path cannot start another host thread: " + error.code().message() +
                             "; PSFLIP_CPU_WORKERS says how many run blocks at once");
  }
}

}  // namespace cuda_on_cpu
