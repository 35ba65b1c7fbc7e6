/// One bit, one site: how the sites of a system lie in words.
#pragma once

#include <cstdint>

#include "05_sliced/sliced.hpp"
#include "gpu/host_device.hpp"

namespace psflip::amsc {

/// A row of the sliced layout has L = bits * m sites. It is m words, and site x is bit x / m of word x % m. So the
/// neighbours of a word's sites along x are the sites of the word beside it, bit by bit; only beyond the end of a row
/// they are those of its other end, one bit further. A word is an element of the layout, numbered as if its sites were
/// one.
struct SiteWords {
  spin_glass::Sliced layout;  ///< of words
  int bits;                   ///< of a word, the largest divisor of L up to 32

  explicit SiteWords(int size) : layout{size, 0}, bits(32) {
    while (size % bits != 0) --bits;
    layout.row = size / bits;
  }

  /// Words of a colour.
  PSFLIP_HOST_DEVICE constexpr int count() const { return layout.row * layout.size * (layout.size / 2); }
  /// The site of bit `bit` of the word at a place.
  PSFLIP_HOST_DEVICE constexpr spin_glass::Site site(spin_glass::Colour colour, spin_glass::Place place,
                                                     int bit) const {
    return layout.site(colour, {place.x + bit * layout.row, place.y, place.z});
  }
  /// Ones for the sites that there are.
  PSFLIP_HOST_DEVICE constexpr std::uint32_t all() const { return ~0u >> (32 - bits); }
};

/// Where the spins and couplings of all samples lie. A system is a sample in `together` of its replicas: what one
/// thread updates of a word, with 4, 8 or 16 bytes of spins side by side.
struct Systems {
  SiteWords words;
  std::int64_t samples;
  int replicas, together;  ///< together: 1, 2 or 4, a divisor of the replicas

  PSFLIP_HOST_DEVICE constexpr int parts() const { return replicas / together; }  ///< systems of a sample
  PSFLIP_HOST_DEVICE constexpr std::int64_t count() const { return samples * parts(); }

  /// In the array of a colour, word i of a replica of a sample.
  PSFLIP_HOST_DEVICE constexpr std::int64_t spins(std::int64_t sample, int replica, int i) const {
    const int part = replica / together;
    return ((sample * parts() + part) * words.count() + i) * together + (replica - part * together);
  }
  PSFLIP_HOST_DEVICE constexpr std::int64_t all_spins() const { return count() * words.count() * together; }

  /// In the array of a colour, the bonds of word i in direction 0; the next directions are `step` further each. So a
  /// warp finds all six beside each other, and a thread by one address.
  static constexpr int step = 32;
  PSFLIP_HOST_DEVICE constexpr std::int64_t bonds(std::int64_t sample, int i) const {
    return sample * bonds_of_sample() + bond(i);
  }
  PSFLIP_HOST_DEVICE static constexpr int bond(int i) {  // of a sample's
    return i + (i & -step) * (spin_glass::directions - 1);
  }
  PSFLIP_HOST_DEVICE constexpr std::int64_t bonds_of_sample() const {
    return std::int64_t{(words.count() - 1) / step + 1} * step * spin_glass::directions;
  }
};

}  // namespace psflip::amsc
