// Compiled once a stage: the build says which platforms the stage has.
#include "majority/platforms.hpp"

namespace psflip::majority {

std::string_view stage() { return PSFLIP_STAGE; }

const std::vector<Platform>& platforms() {
#if PSFLIP_HAS_REFERENCE
  static const std::vector<Platform> all{{"reference", reference_devices, reference::make_simulation}};
#else
  static const std::vector<Platform> all = PSFLIP_PLATFORMS(make_simulation);
#endif
  return all;
}

}  // namespace psflip::majority
