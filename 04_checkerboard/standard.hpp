/// Standard indexing: each colour fills half of every row, in the order of the lattice. For any even L.
#pragma once

#include "spin_glass/model/geometry.hpp"

namespace psflip::spin_glass {

/// The place (x, y, z), x < L / 2, holds the site (2x + o, y, z), where o = 0 or 1 makes the site's colour right.
struct Standard {
  int size;  ///< L

  PSFLIP_HOST_DEVICE constexpr Place extent() const { return {size / 2, size, size}; }

  /// Element i counts through x, then y, then z. Two divisions by numbers that are known at run time only.
  PSFLIP_HOST_DEVICE constexpr Place place(int i) const {
    const int row = i / (size / 2), z = row / size;
    return {i - row * (size / 2), row - z * size, z};
  }
  PSFLIP_HOST_DEVICE constexpr int element(int x, int y, int z) const { return x + size / 2 * (y + size * z); }

  /// Whether the sites of this colour have odd x in the row of p: red begins with 0 where y + z is even.
  PSFLIP_HOST_DEVICE static constexpr int odd(Colour colour, Place p) { return (p.y ^ p.z ^ colour) & 1; }

  PSFLIP_HOST_DEVICE constexpr Site site(Colour colour, Place p) const { return {2 * p.x + odd(colour, p), p.y, p.z}; }

  /// Where the other colour's array has the six neighbours. Along x one of the two has the site's own place.
  PSFLIP_HOST_DEVICE constexpr Neighbours neighbours(Colour colour, Place p) const {
    const bool is_odd = odd(colour, p);
    return {{element(is_odd ? after(p.x, size / 2) : p.x, p.y, p.z),   // + x
             element(is_odd ? p.x : before(p.x, size / 2), p.y, p.z),  // - x
             element(p.x, after(p.y, size), p.z), element(p.x, before(p.y, size), p.z),
             element(p.x, p.y, after(p.z, size)), element(p.x, p.y, before(p.z, size))}};
  }
};

}  // namespace psflip::spin_glass
