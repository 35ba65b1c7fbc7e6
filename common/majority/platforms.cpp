// Compiled once a stage: the build says which platforms the stage has.
#include "majority/platforms.hpp"

namespace psflip::majority {

std::string_view stage() { return PSFLIP_STAGE; }

const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = PSFLIP_PLATFORMS(make_simulation);
  return all;
}

}  // namespace psflip::majority
