/// The host threads that run the blocks of a grid.
#pragma once

#include "block.hpp"

namespace cuda_on_cpu {

/// Runs every block of a grid, and returns when the last has ended. Grids run one at a time.
void run_grid(const Grid& grid);

}  // namespace cuda_on_cpu
