/// cuRAND's MTGP32, which needs a kernel of its own: curand_mtgp32.cu.
#pragma once

#include <memory>

#include "spin_glass/engine/simulation.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// What make_simulation() is for the other generators; `launch` is complete. Throws InvalidInput unless its blocks
/// have 256 threads.
std::unique_ptr<spin_glass::Simulation> make_curand_mtgp32(const spin_glass::Problem& problem,
                                                           const spin_glass::Launch& launch);

}  // namespace psflip::PSFLIP_PLATFORM
