/// What this program, one stage of the 2D model, can run on.
#pragma once

#include <string_view>
#include <vector>

#include "gpu/platforms.hpp"
#include "majority/simulation.hpp"

namespace psflip::majority {

using Platform = psflip::Platform<MakeSimulation>;
using Choice = psflip::Choice<MakeSimulation>;

/// This program's stage: the name of its folder.
std::string_view stage();

/// Best first: the GPU before the CPU. The stage of the plain loop has the platform "reference" alone.
const std::vector<Platform>& platforms();

}  // namespace psflip::majority
