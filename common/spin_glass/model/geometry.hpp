/// What the layouts of the 3D lattice have in common: the words in which they say where a site lies.
///
/// A layout keeps red and blue sites in two arrays of L^3 / 2 elements each. It has places, (x, y, z) within extent():
/// coordinates of its own, not those of the lattice. The element at a place is number x + extent.x (y + extent.y z).
#pragma once

#include <cstdint>

#include "gpu/host_device.hpp"

namespace psflip::spin_glass {

enum Colour : int { red = 0, blue = 1 };

/// The other one.
PSFLIP_HOST_DEVICE constexpr Colour other(Colour colour) { return colour == red ? blue : red; }

struct Place {
  int x, y, z;
};

/// Whether the site at a place is the layout's own. A layout of a part of the lattice says it, because it also has
/// copies of sites of other parts.
template <class Layout>
PSFLIP_HOST_DEVICE constexpr bool owns(const Layout& layout, Colour colour, Place place) {
  if constexpr (requires { layout.owns(colour, place); })
    return layout.owns(colour, place);
  else
    return true;
}
/// The first of a colour's elements that are.
template <class Layout>
PSFLIP_HOST_DEVICE constexpr int first_owned(const Layout& layout, Colour colour) {
  if constexpr (requires { layout.first_owned(colour); })
    return layout.first_owned(colour);
  else
    return 0;
}

/// Coordinates of a site in the lattice, each 0 .. L - 1.
struct Site {
  int x, y, z;
};

/// s = x + L (y + L z)
PSFLIP_HOST_DEVICE constexpr std::int64_t number(const Site& site, int size) {
  return site.x + std::int64_t{size} * (site.y + std::int64_t{size} * site.z);
}

/// The six directions of the bonds of a site, in the order in which arrays hold them.
enum Direction : int { plus_x, minus_x, plus_y, minus_y, plus_z, minus_z };
inline constexpr int directions = 6;

/// Element numbers, in the other colour's array, of a site's neighbours: the one in direction d is to[d].
struct Neighbours {
  int to[directions];
};

/// v + 1 and v - 1 in a periodic range 0 .. n - 1. A comparison is cheaper than the modulo.
PSFLIP_HOST_DEVICE constexpr int after(int v, int n) { return v + 1 < n ? v + 1 : 0; }
PSFLIP_HOST_DEVICE constexpr int before(int v, int n) { return v > 0 ? v - 1 : n - 1; }

}  // namespace psflip::spin_glass
