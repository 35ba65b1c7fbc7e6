/// Philox for words of sites: the draws of 32 sites, each of its own bits, from eight words of Philox and a few more.
/// spin_glass/model/problem.hpp defines them under philox-planes.
///
/// Made for kernels in which a thread has all sites of a word (07_amsc/synchronous). Here a draw is a number as any
/// other's, so it can be judged, and a site can have a thread of its own (06_prng/planes).
#pragma once

#include "06_prng/generators/generator.hpp"
#include "06_prng/generators/philox.hpp"

namespace psflip::prng {

/// The draws of a word's sites in one sweep of a replica.
class DrawsOfWord {
 public:
  PSFLIP_HOST_DEVICE DrawsOfWord(std::uint64_t seed, std::uint32_t word, std::uint32_t replica, std::uint32_t sweep,
                                 std::uint32_t sample)
      : seed_(seed), word_(word), replica_(replica), sweep_(sweep), sample_(sample) {
    planes_[0] = hash(replica, 32 * sample);
    planes_[1] = hash(replica, 32 * sample + 1);
  }

  /// That of the site which is bit `bit`: eight bits on top, and 24 more if they are zeros. Else those are zeros.
  PSFLIP_HOST_DEVICE std::uint32_t draw(int bit) const {
    const std::uint32_t upper = top(bit);
    if (upper != 0) return upper << 24;
    std::uint32_t before = 0;  // sites of the word whose upper bits are zeros, too
    for (int lower = 0; lower < bit; ++lower) before += top(lower) == 0;
    return hash(replica_ / 4, 0x80000000 + 32 * sample_ + before).of[replica_ % 4] >> 8;
  }

 private:
  PSFLIP_HOST_DEVICE std::uint32_t top(int bit) const {
    std::uint32_t upper = 0;
    for (const Quadruple& four : planes_)
      for (const std::uint32_t plane : four.of) upper = 2 * upper + (plane >> bit & 1);
    return upper;
  }
  PSFLIP_HOST_DEVICE Quadruple hash(std::uint32_t i, std::uint32_t n) const {
    return philox4x32<10>({{word_, i, sweep_, n}}, static_cast<std::uint32_t>(seed_),
                          static_cast<std::uint32_t>(seed_ >> 32));
  }

  std::uint64_t seed_;
  std::uint32_t word_, replica_, sweep_, sample_;
  Quadruple planes_[2];
};

struct PhiloxPlanes {
  static constexpr int words = 0;
  static constexpr int history = 0;

  static constexpr double bytes(double /*draws*/) { return 0; }

  PSFLIP_HOST_DEVICE static void seed(const States&, std::int64_t, std::uint64_t) {}

  /// Whether the threshold has a 1 where the draw has its first; but beyond the eight upper bits the others count.
  PSFLIP_HOST_DEVICE static bool accepts(std::uint32_t draw, std::uint32_t threshold) {
    for (int bit = 31; bit >= 24; --bit)
      if ((draw >> bit & 1) != 0) return (threshold >> bit & 1) != 0;
    return draw < (threshold & 0xffffff);
  }

  /// Where a site of the standard layout is: which word of sites, and which of its bits.
  struct Place {
    std::uint32_t word;
    int bit;
  };
  PSFLIP_HOST_DEVICE static Place place_of(std::uint32_t site, std::uint32_t size) {
    std::uint32_t bits = 32;
    while (size % bits != 0) --bits;
    const std::uint32_t row = size / bits, x = site % size, y = site / size % size, z = site / size / size;
    const std::uint32_t sliced_y = (y + size - x) % size, sliced_z = (x + size - y + z) % size;
    const std::uint32_t plane = sliced_z % 2 * (size / 2) + sliced_z / 2;  // first all that are red
    return {x % row + row * (sliced_y + size * plane), static_cast<int>(x / row)};
  }
};

}  // namespace psflip::prng
