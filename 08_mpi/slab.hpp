/// The sliced layout (05_sliced/sliced.hpp), cut along z' into slabs, one a rank.
#pragma once

#include <cstdint>

#include "05_sliced/sliced.hpp"
#include "spin_glass/model/geometry.hpp"

namespace psflip::spin_glass {

/// A rank's planes: number `first` to `first` + `planes` - 1 of the L/2 that each colour has, and one more of each
/// colour, the halo, which is a copy of a neighbour's plane:
///
///     z'          red, array of planes + 1          blue, array of planes + 1
///      |   planes      halo, of the next rank         planes     its own, sent to the next rank
///      |   planes-1    its own                        ...        its own
///      |   ...         its own                        1          its own
///          0           its own, sent to the one       0          halo, of the rank before
///                      before
///
/// The planes alternate, a red one above each blue one. So a red plane p lies between the blue planes p and p + 1 of
/// these arrays, and a blue plane p between the red ones p - 1 and p: nothing wraps around, and each colour needs one
/// of the two neighbouring ranks only.
struct Slab {
  int size;    ///< L
  int first;   ///< 0 .. L/2 - 1
  int planes;  ///< 1 .. L/2

  /// That of a rank, if all have as many planes as the others or one more. There are at most L/2 ranks.
  PSFLIP_HOST_DEVICE static constexpr Slab of(int rank, int ranks, int size) {
    const std::int64_t all = size / 2;
    const int begin = static_cast<int>(all * rank / ranks), end = static_cast<int>(all * (rank + 1) / ranks);
    return {size, begin, end - begin};
  }

  PSFLIP_HOST_DEVICE constexpr int area() const { return size * size; }  ///< sites of a plane
  PSFLIP_HOST_DEVICE constexpr Place extent() const { return {size, size, planes + 1}; }
  PSFLIP_HOST_DEVICE constexpr int elements() const { return area() * (planes + 1); }

  PSFLIP_HOST_DEVICE constexpr int first_plane(Colour colour) const { return colour == red ? 0 : 1; }
  // --- yours: which planes are whose? Red needs the blue planes p and p + 1, blue the red ones p - 1 and p
  /// The plane that the neighbour needs, which is also the one that needs the neighbour's.
  PSFLIP_HOST_DEVICE constexpr int boundary(Colour colour) const { return colour == red ? 0 : planes; }
  PSFLIP_HOST_DEVICE constexpr int halo(Colour colour) const { return colour == red ? planes : 0; }
  PSFLIP_HOST_DEVICE constexpr int first_owned(Colour colour) const { return area() * first_plane(colour); }
  PSFLIP_HOST_DEVICE constexpr bool owns(Colour colour, Place p) const { return p.z != halo(colour); }

  PSFLIP_HOST_DEVICE constexpr Place place(int i) const { return Sliced{size, size}.place(i); }
  PSFLIP_HOST_DEVICE constexpr int element(int x, int y, int plane) const {
    return Sliced{size, size}.element(x, y, plane);
  }
  PSFLIP_HOST_DEVICE constexpr Site site(Colour colour, Place p) const {
    const int all = size / 2, plane = (first + p.z - first_plane(colour) + all) % all;
    return Sliced{size, size}.site(colour, {p.x, p.y, plane});
  }

  /// Of a site that the slab owns.
  PSFLIP_HOST_DEVICE constexpr Neighbours neighbours(Colour colour, Place p) const {
    const int above = colour == red ? p.z + 1 : p.z, below = above - 1;
    return {{element(after(p.x, size), before(p.y, size), above),   // + x
             element(before(p.x, size), after(p.y, size), below),   // - x
             element(p.x, after(p.y, size), below),                 // + y
             element(p.x, before(p.y, size), above),                // - y
             element(p.x, p.y, above), element(p.x, p.y, below)}};  // +- z
  }
  // --- end
};

}  // namespace psflip::spin_glass
