// Compiled once a stage: the build says which platforms the stage has.
#include "spin_glass/engine/platforms.hpp"

#ifndef PSFLIP_BUILT_WITH  // most stages have no library to do without
#define PSFLIP_BUILT_WITH ""
#endif

namespace psflip::spin_glass {

std::string_view stage() { return PSFLIP_STAGE; }

bool built_with(std::string_view library) { return library == PSFLIP_BUILT_WITH; }

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

}  // namespace psflip::spin_glass
