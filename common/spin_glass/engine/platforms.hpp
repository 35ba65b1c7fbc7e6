/// What this program, one stage of the 3D model, can run on.
#pragma once

#include <string_view>
#include <vector>

#include "gpu/platforms.hpp"
#include "spin_glass/engine/simulation.hpp"

namespace psflip::spin_glass {

using Platform = psflip::Platform<MakeSimulation>;
using Choice = psflip::Choice<MakeSimulation>;

/// This program's stage: the name of its folder.
std::string_view stage();

/// Whether the stage was built with a library that it can do without, "nccl" say.
bool built_with(std::string_view library);

/// Best first: the GPU before the CPU. The stage of the plain loop has the platform "reference" alone.
const std::vector<Platform>& platforms();

}  // namespace psflip::spin_glass
