// Compiled once a stage: the build says which platforms the stage has.
#include "majority/platforms.hpp"

namespace psflip::majority {

std::string_view stage() { return PSFLIP_STAGE; }

const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = {
#if PSFLIP_HAS_GPU
    {"gpu", gpu::devices, gpu::make_simulation},
#endif
#if PSFLIP_HAS_CPU
    {"cpu", cpu::devices, cpu::make_simulation},
#endif
#if PSFLIP_HAS_REFERENCE
    {"reference", reference_devices, reference::make_simulation},
#endif
  };
  return all;
}

}  // namespace psflip::majority
