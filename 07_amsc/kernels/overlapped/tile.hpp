/// What a block of the overlapped kernel computes, and which of its threads has which column.
#pragma once

#include <cstddef>

#include "gpu/host_device.hpp"

namespace psflip::amsc {

/// A tile of columns along z', with a halo that is read and, in part, computed again. In the block's own frame a column
/// is (i, j), 0 <= i < width and 0 <= j < height; the tile begins at (halo, halo).
struct Tile {
  static constexpr int sweeps = 2;           ///< of a pass over memory
  static constexpr int stages = 2 * sweeps;  ///< half-sweeps: red, blue, red, blue
  static constexpr int halo = sweeps;        ///< columns or rows that two half-sweeps need at an edge, one at each end

  static constexpr int columns = 32, rows = 12;  ///< that a block writes, at most
  static constexpr int width = columns + 2 * halo, height = rows + 2 * halo;
  static constexpr int pitch = width | 1;  ///< odd, so that a column's elements lie in different banks
  static constexpr int elements = pitch * height;

  /// Planes of a colour in shared memory. At step p red goes from p to p - 1 and blue from p - 1 to p - 2, which look
  /// at nothing beyond p - 2, and plane p + 1 is on its way.
  static constexpr int ring = 4;

  /// For the rows, and for the halo columns beside them, of which a warp has two.
  static constexpr int warps = height + halo;
  static constexpr int threads = 32 * warps;

  /// Shared memory: spins of `bundles` elements of 16 bytes a site, and two bonds of `units` words.
  static constexpr std::size_t bytes(int units, int bundles) {
    return std::size_t{2} * ring * elements * (16 * bundles + 8 * units);
  }
};

/// The column of a thread.
struct Column {
  int i, j;
  bool in_row;  ///< its warp has the columns of a row, not the halo beside all rows

  /// A warp has the 32 columns of the tile in a row, or two halo columns of all rows. Warps 0, 4, 8 ... share a
  /// scheduler, and a step takes as long as the one with most to do. Each has three rows of the tile, 12 stages. The
  /// halo has 10: the rows below 3 and 1, those above 2 and 0, the columns 3 and 1; so no scheduler has more than 15.
  PSFLIP_HOST_DEVICE static constexpr Column of(int thread) {
    constexpr int first = Tile::halo, end = Tile::halo + Tile::rows;
    const int warp = thread / 32, lane = thread % 32;
    const auto row = [lane](int j) { return Column{first + lane, j, true}; };
    const auto columns = [lane](int away) {  // to the left for half of the warp, to the right for the other
      const bool left = lane < Tile::height;
      return Column{left ? first - away : first + Tile::columns - 1 + away, lane % Tile::height, false};
    };
    switch (warp - Tile::rows) {
      case 0:
        return row(first - 1);
      case 1:
        return row(end + 1);
      case 2:
        return row(end);
      case 3:
        return columns(1);
      case 4:
        return row(first - 2);
      case 5:
        return columns(2);
      default:
        return row(first + warp);
    }
  }
};
static_assert(Tile::halo == 2 && 2 * Tile::height == 32 && Tile::columns == 32);

/// A tile need not be full: so many columns and rows it has, at most columns x rows.
struct Extent {
  int columns, rows;

  /// Whether stage s computes column (i, j). Every stage looks at columns up to one to the left or right, above or
  /// below, by its colour: so a stage computes one row and one column more than the one that follows it.
  PSFLIP_HOST_DEVICE constexpr bool computes(int stage, int i, int j) const {
    const int left = Tile::stages - 1 - stage;  // stages to come
    return i >= Tile::halo - (left + 1) / 2 && i < Tile::halo + columns + left / 2 && j >= Tile::halo - left / 2 &&
           j < Tile::halo + rows + (left + 1) / 2;
  }
  PSFLIP_HOST_DEVICE constexpr bool inside(int i, int j) const {
    return i >= Tile::halo && i < Tile::halo + columns && j >= Tile::halo && j < Tile::halo + rows;
  }
  PSFLIP_HOST_DEVICE constexpr bool copies(int i, int j) const {
    return i < columns + 2 * Tile::halo && j < rows + 2 * Tile::halo;
  }
};

}  // namespace psflip::amsc
