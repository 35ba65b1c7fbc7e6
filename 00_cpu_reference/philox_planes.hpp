/// Draws for many sites of one sample at once, and here for one after the other (spin_glass/model/problem.hpp).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "00_cpu_reference/philox.hpp"

namespace psflip::reference {

/// Where a site lies: bit `bit` of word `word`.
struct PlanePlace {
  std::uint32_t word;
  int bit;
};

inline PlanePlace plane_place(std::int64_t size, std::int64_t site) {
  const std::int64_t x = site % size, y = site / size % size, z = site / (size * size);
  const std::int64_t sliced_y = (y - x + size) % size, sliced_z = (x - y + z + size) % size;
  std::int64_t bits = 32;
  while (size % bits != 0) --bits;
  const std::int64_t words = size / bits;  // of a row
  const std::int64_t red_words = words * size * size / 2, blue = sliced_z % 2;
  const std::int64_t word = blue * red_words + x % words + words * (sliced_y + size * (sliced_z / 2));
  return {static_cast<std::uint32_t>(word), static_cast<int>(x / words)};
}

/// All draws of one sample.
struct PhiloxPlanes {
  std::uint64_t seed;
  std::uint32_t sample;

  std::uint32_t draw(PlanePlace place, std::uint32_t replica, std::uint32_t sweep) const {
    const std::uint32_t draw = top(place, replica, sweep);
    if (draw != 0) return draw;
    std::uint32_t lower = 0;  // sites of this word whose eight bits are zeros, too
    for (int bit = 0; bit < place.bit; ++bit) lower += top({place.word, bit}, replica, sweep) == 0;
    return hash(place.word, replica / 4, sweep, (1u << 31) + 32 * sample + lower)[replica % 4] >> 8;
  }

  /// Whether a draw accepts what has the probability threshold / 2^32.
  static bool accepts(std::uint32_t draw, std::uint32_t threshold) {
    const int first_one = std::countl_zero(draw);
    if (first_one < 8) return (threshold >> (31 - first_one) & 1) != 0;
    return draw < (threshold & 0xffffff);
  }

 private:
  /// The eight bits on top; zeros below.
  std::uint32_t top(PlanePlace place, std::uint32_t replica, std::uint32_t sweep) const {
    std::uint32_t draw = 0;
    for (std::uint32_t half = 0; half < 2; ++half)
      for (const std::uint32_t plane : hash(place.word, replica, sweep, 32 * sample + half))
        draw = 2 * draw + (plane >> place.bit & 1);
    draw <<= 24;
    return draw;
  }
  std::array<std::uint32_t, 4> hash(std::uint32_t word, std::uint32_t i, std::uint32_t sweep, std::uint32_t n) const {
    return philox4x32_10({word, i, sweep, n},
                         {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  }
};

}  // namespace psflip::reference
