/// How a lattice of one bit a spin lies in memory.
#pragma once

#include <cstddef>

#include "gpu/host_device.hpp"

namespace psflip {

/// A row is cut into groups of 128 sites, a group is four words (uint4), and bit b of word w is site 4 b + w of the
/// group, 1 = up. So the neighbours of a word's sites to the left and right are the words beside it; only at the
/// group's two ends does a word have to be shifted.
///
/// Behind the last site of a row the first one follows: the bits of the last group that are left over hold what comes
/// then, and so does one more group on either side, the row's halo. A row too short for that is written several times
/// side by side, which the periodic lattice does not notice.
struct PackedLayout {
  static constexpr int group_sites = 128;
  static constexpr int line_groups = 8;  ///< of a cache line of 128 bytes, where each row begins

  explicit PackedLayout(int lattice_size) : size(lattice_size), width((2 * group_sites + size) / size * size) {
    groups = (width - 1) / group_sites + 1;
    tail = width - (groups - 1) * group_sites;
    pitch = (groups + 2 + line_groups - 1) / line_groups * line_groups;
  }

  /// Where group `group` of row `y` lies; -1 <= group <= groups.
  PSFLIP_HOST_DEVICE std::size_t index(int y, int group) const {
    return line_groups + static_cast<std::size_t>(y) * pitch + group;
  }
  /// Groups of the whole lattice, padding included.
  std::size_t count() const { return line_groups + static_cast<std::size_t>(size) * pitch; }

  int size;    ///< n: rows, and sites of a row
  int width;   ///< sites of a row as it is stored: n, or for n <= 256 the least multiple of n beyond 256
  int groups;  ///< of a row, at least 3
  int tail;    ///< sites in the last of them, 1 to 128
  int pitch;   ///< groups from one row to the next
};

}  // namespace psflip
