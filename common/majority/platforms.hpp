/// What this program, one stage of the 2D model, can run on.
#pragma once

#include <string_view>
#include <vector>

#include "gpu/platforms.hpp"
#include "majority/simulation.hpp"

namespace psflip::majority {

using Platform = psflip::Platform<MakeSimulation>;
using Choice = psflip::Choice<MakeSimulation>;

/// This program's stage, by its folder: "03_shared_memory".
std::string_view stage();

/// Best first: the GPU before the CPU. Stage 00 has the platform "reference" alone.
const std::vector<Platform>& platforms();

}  // namespace psflip::majority
