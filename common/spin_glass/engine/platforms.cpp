// Compiled once a stage: the build says which platforms the stage has.
#include "spin_glass/engine/platforms.hpp"

#ifndef PSFLIP_BUILT_WITH  // most stages have no library to do without
#define PSFLIP_BUILT_WITH ""
#endif

namespace psflip::spin_glass {

std::string_view stage() { return PSFLIP_STAGE; }

bool built_with(std::string_view library) { return library == PSFLIP_BUILT_WITH; }

const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = PSFLIP_PLATFORMS(make_simulation);
  return all;
}

}  // namespace psflip::spin_glass
