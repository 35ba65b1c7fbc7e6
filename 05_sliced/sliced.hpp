/// The sliced layout: the lattice cut along its body diagonal into planes of one colour (Lulli, Bernaschi, Parisi,
/// arXiv:1411.0127).
#pragma once

#include "spin_glass/model/geometry.hpp"

namespace psflip::spin_glass {

/// x' = x, y' = y - x, z' = x - y + z, all modulo L. One step along any axis changes z' by one, so the planes of even
/// z' are red, those of odd z' blue, and a site's neighbours lie in the planes above and below its own: three in each.
/// The place (x', y', p) holds the red site with z' = 2p, or the blue one with z' = 2p + 1.
struct Sliced {
  int size;  ///< L
  int row;   ///< elements in a row of L sites: L, or L / s if one element holds s sites that lie side by side

  PSFLIP_HOST_DEVICE constexpr Place extent() const { return {row, size, size / 2}; }

  PSFLIP_HOST_DEVICE constexpr Place place(int i) const {
    const int rows = i / row, plane = rows / size;
    return {i - rows * row, rows - plane * size, plane};
  }
  PSFLIP_HOST_DEVICE constexpr int element(int x, int y, int plane) const { return x + row * (y + size * plane); }

  /// The site of a place; for one site an element.
  PSFLIP_HOST_DEVICE constexpr Site site(Colour colour, Place p) const {
    const int y = p.x + p.y, z = 2 * p.z + colour + p.y;  // y = x' + y', z = z' + y'
    return {p.x, y < size ? y : y - size, z < size ? z : z - size};
  }

  // --- yours: where the six neighbours of a place are, for either colour
  /// Both colours have the same six; only which planes lie above and below differs. With s sites an element, the two
  /// along x are the elements beside those of -y and +y: they supply what is pushed out of these by one site.
  PSFLIP_HOST_DEVICE constexpr Neighbours neighbours(Colour colour, Place p) const {
    const int above = colour == red ? p.z : after(p.z, size / 2);
    const int below = colour == red ? before(p.z, size / 2) : p.z;
    return {{element(after(p.x, row), before(p.y, size), above),    // + x
             element(before(p.x, row), after(p.y, size), below),    // - x
             element(p.x, after(p.y, size), below),                 // + y
             element(p.x, before(p.y, size), above),                // - y
             element(p.x, p.y, above), element(p.x, p.y, below)}};  // +- z
  }
  // --- end
};

}  // namespace psflip::spin_glass
