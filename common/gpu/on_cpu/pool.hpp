/// The host threads that run the blocks of a grid.
#pragma once

#include <cstddef>

#include "block.hpp"

namespace cuda_on_cpu {

/// Runs every block of a grid, and returns when the last has ended. Grids run one at a time.
void run_grid(uint3 grid, uint3 block, std::size_t dynamic_shared_bytes, Block::ThreadLoop loop,
              const void* kernel_call);

}  // namespace cuda_on_cpu
