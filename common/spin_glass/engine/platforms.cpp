// Compiled once a stage: the build says which platforms the stage has.
#include "spin_glass/engine/platforms.hpp"

#ifndef PSFLIP_HAS_CURAND  // only stage 06 asks whether there is cuRAND
#define PSFLIP_HAS_CURAND 0
#endif
#ifndef PSFLIP_HAS_NCCL  // and only stage 08 for NCCL
#define PSFLIP_HAS_NCCL 0
#endif

namespace psflip::spin_glass {

std::string_view stage() { return PSFLIP_STAGE; }

bool built_with(std::string_view library) {
  return (library == "curand" && PSFLIP_HAS_CURAND) || (library == "nccl" && PSFLIP_HAS_NCCL);
}

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
