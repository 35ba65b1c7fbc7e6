/// Records what kernels do to memory.
///
/// The compiler's instrumentation for ThreadSanitizer calls a function before every load and store that is left after
/// optimisation; callbacks.cpp has these functions, in place of ThreadSanitizer's own. The recorder groups what the
/// lanes of a warp do at the same place of the code, each for the same time since the block's last barrier, into
/// requests. Its instrumentation for coverage calls functions before every comparison and at the begin of every basic
/// block: from these follow branches (branches.hpp).
///
/// PSFLIP_COUNTERS=FILE says where the recording goes when the program ends: JSON, which launch_record.hpp describes.
/// Without it nothing is recorded. PSFLIP_CACHES says through the model of which caches the accesses go (caches.hpp);
/// without it there is none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuda_on_cpu::counters {

enum class Kind : std::uint8_t { load, store, atomic };

/// The running CUDA thread is about to touch `bytes` (1, 2, 4, 8 or 16) at the address. `code` tells the instructions
/// of the program apart. Ignored outside of kernels, and for what a GPU keeps in registers, as parameters or on the
/// stack.
void record(Kind kind, std::uintptr_t code, std::uintptr_t address, unsigned bytes);
/// The same for a value of any size: moved as words, as large as its address allows, 16 bytes at most.
void record_range(Kind kind, std::uintptr_t code, std::uintptr_t address, std::size_t bytes);

/// The running CUDA thread evaluates a condition, at this place of the code; it comes to the basic block at this place.
void record_comparison(std::uintptr_t code);
void record_basic_block(std::uintptr_t code);

}  // namespace cuda_on_cpu::counters
