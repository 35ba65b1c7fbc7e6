/// An assignment goes without this kernel.
#pragma once

#include "spin_glass/engine/launch.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {

inline bool promises_passes(const Problem&, const Launch&, int) { return false; }

}  // namespace psflip::spin_glass
