/// The host threads that run the blocks of a grid.
#pragma once

#include "block.hpp"

namespace cuda_on_cpu {

/// Whether a grid is a single thread. Such a kernel may wait for what others do (lone_kernel.hpp).
bool one_thread(uint3 grid, uint3 block);

/// Runs every block of a grid, and returns when the last has ended. Grids run one at a time, but for single threads,
/// which run beside them.
void run_grid(const Grid& grid);

}  // namespace cuda_on_cpu
