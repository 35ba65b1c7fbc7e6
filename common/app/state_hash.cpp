#include "app/state_hash.hpp"

#include <cinttypes>
#include <cstdio>

namespace psflip {

std::uint64_t StateHash::joined(std::uint64_t one, std::uint64_t other, std::int64_t spins_of_other) {
  std::uint64_t a = 1;  // the factor to the power of the number of spins
  for (std::uint64_t rest = static_cast<std::uint64_t>(spins_of_other), square = Checksum::factor; rest > 0;
       rest /= 2, square *= square) {
    if (rest % 2 != 0) a *= square;
  }
  const std::uint64_t start = StateHash().value(), b = other - a * start;
  return (one ^ start) % 2 == 0 ? a * one + b : a * one - b;
}

std::string hex(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, value);
  return digits;
}

}  // namespace psflip
