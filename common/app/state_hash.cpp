#include "app/state_hash.hpp"

#include <cinttypes>
#include <cstdio>

namespace psflip {

std::string hex(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, value);
  return digits;
}

}  // namespace psflip
