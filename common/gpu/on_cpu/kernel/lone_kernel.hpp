/// Kernels of one thread, which may wait for something that happens elsewhere: a flag that a kernel of another stream,
/// device or process sets. Each runs on a host thread of its own. From its first __nanosleep on it counts as waiting,
/// and nobody but those who depend on it waits for it.
#pragma once

#include <functional>

namespace cuda_on_cpu {

/// Runs `kernel`, and returns true when it has ended. Returns false if it waits; then `ended` is called when it ends,
/// by its host thread.
bool run_lone_kernel(std::function<void()> kernel, std::function<void()> ended);

/// __nanosleep: gives the core away for about so long.
void sleep_in_kernel(unsigned nanoseconds);

}  // namespace cuda_on_cpu
