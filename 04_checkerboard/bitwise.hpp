/// Bitwise indexing: the standard layout for L = 2^l, where masks and shifts do what divisions and comparisons did.
#pragma once

#include "spin_glass/model/geometry.hpp"

namespace psflip::spin_glass {

/// The same places as Standard. The element number is three bit fields: z, y, x.
struct Bitwise {
  int bits;  ///< l

  PSFLIP_HOST_DEVICE constexpr Place extent() const { return {1 << (bits - 1), 1 << bits, 1 << bits}; }

  PSFLIP_HOST_DEVICE constexpr Place place(int i) const {
    return {i & half_mask(), i >> (bits - 1) & mask(), i >> (2 * bits - 1)};
  }
  PSFLIP_HOST_DEVICE constexpr int element(int x, int y, int z) const {
    return x | y << (bits - 1) | z << (2 * bits - 1);
  }

  PSFLIP_HOST_DEVICE static constexpr int odd(Colour colour, Place p) { return (p.y ^ p.z ^ colour) & 1; }

  PSFLIP_HOST_DEVICE constexpr Site site(Colour colour, Place p) const { return {2 * p.x + odd(colour, p), p.y, p.z}; }

  PSFLIP_HOST_DEVICE constexpr Neighbours neighbours(Colour colour, Place p) const {
    const int is_odd = odd(colour, p);
    return {{element((p.x + is_odd) & half_mask(), p.y, p.z), element((p.x - 1 + is_odd) & half_mask(), p.y, p.z),
             element(p.x, (p.y + 1) & mask(), p.z), element(p.x, (p.y - 1) & mask(), p.z),
             element(p.x, p.y, (p.z + 1) & mask()), element(p.x, p.y, (p.z - 1) & mask())}};
  }

 private:
  PSFLIP_HOST_DEVICE constexpr int mask() const { return (1 << bits) - 1; }
  PSFLIP_HOST_DEVICE constexpr int half_mask() const { return (1 << (bits - 1)) - 1; }
};

}  // namespace psflip::spin_glass
