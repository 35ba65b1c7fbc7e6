/// What the stencil's programs can run on; the build says which platforms there are.
#pragma once

#include <vector>

#include "05_sliced/stencil/stencil.hpp"
#include "gpu/platforms.hpp"

namespace psflip::stencil {

using Platform = psflip::Platform<MakeEngine>;

/// Best first: the GPU before the CPU.
inline const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = PSFLIP_PLATFORMS(make_stencil);
  return all;
}

}  // namespace psflip::stencil
