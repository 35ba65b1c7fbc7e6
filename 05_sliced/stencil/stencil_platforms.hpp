/// What the stencil's programs can run on; the build says which platforms there are.
#pragma once

#include <vector>

#include "05_sliced/stencil/stencil.hpp"
#include "gpu/platforms.hpp"

namespace psflip::stencil {

using Platform = psflip::Platform<MakeEngine>;

/// Best first: the GPU before the CPU.
inline const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = {
#if PSFLIP_HAS_GPU
    {"gpu", gpu::devices, gpu::make_stencil},
#endif
#if PSFLIP_HAS_CPU
    {"cpu", cpu::devices, cpu::make_stencil},
#endif
  };
  return all;
}

}  // namespace psflip::stencil
