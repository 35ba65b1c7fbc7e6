/// philox-planes, which needs a kernel of its own: planes.cu.
#pragma once

#include <memory>

#include "spin_glass/engine/simulation.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// What make_simulation() is for the other generators; `launch` is complete, of the sliced layout and a site a thread.
std::unique_ptr<spin_glass::Simulation> make_planes(const spin_glass::Problem& problem,
                                                    const spin_glass::Launch& launch);

}  // namespace psflip::PSFLIP_PLATFORM
