/// How a system is cut up among thread blocks that keep it on the chip: tiles of whole rows.
#pragma once

#include <algorithm>

#include "07_amsc/synchronous/words.hpp"
#include "gpu/host_device.hpp"

namespace psflip::amsc {

/// Some rows of some half-planes of a colour: those from (y, z) on, in the sliced layout, beyond the end of the lattice
/// and around. A block numbers the words of a box x first, then y, then z.
struct Box {
  int y, z, rows, planes;

  PSFLIP_HOST_DEVICE constexpr int count() const { return rows * planes; }
};

/// A tile, and how far a block that has it looks beyond. In a sweep the block updates the red rows around its tile,
/// too, as the blocks beside it do. So it needs to be told of blue rows only, once per sweep: of two more on either
/// side along y', and of one more half-plane along z'.
struct Tile {
  Box own;

  PSFLIP_HOST_DEVICE constexpr Box red() const { return {own.y - 1, own.z, own.rows + 2, own.planes + 1}; }
  PSFLIP_HOST_DEVICE constexpr Box blue() const { return {own.y - 2, own.z - 1, own.rows + 4, own.planes + 2}; }
  /// Rows of blue() that others have.
  PSFLIP_HOST_DEVICE constexpr int rows_around() const { return 2 * blue().rows + 4 * own.planes; }
  /// Where one of these lies in blue().
  PSFLIP_HOST_DEVICE constexpr int row_around(int n) const {
    const int rows = blue().rows;
    if (n < 2 * rows) return n < rows ? n : n + own.planes * rows;  // the first half-plane, and the last
    const int z = 1 + (n - 2 * rows) / 4, beside = (n - 2 * rows) % 4;
    return z * rows + (beside < 2 ? beside : beside + own.rows);
  }
  /// Whether a block beside has to be told of a row of the tile.
  PSFLIP_HOST_DEVICE constexpr bool at_edge(int y, int z) const {
    return y - own.y < 2 || y - own.y >= own.rows - 2 || z == own.z || z == own.z + own.planes - 1;
  }
};

/// All tiles of a system: along y' as many as along z', or twice as many. A half-sweep has L rows along y', and L / 2
/// half-planes.
struct Tiles {
  int size, along_y, along_z;

  /// blocks: a power of two.
  PSFLIP_HOST_DEVICE constexpr Tiles(int size, int blocks) : size(size), along_y(1), along_z(1) {
    for (int n = 1; n < blocks; n *= 2) (along_y > along_z ? along_z : along_y) *= 2;
  }

  PSFLIP_HOST_DEVICE constexpr Tile tile(int block) const {
    const int i = block % along_y, k = block / along_y, planes = size / 2;
    const int y = i * size / along_y, z = k * planes / along_z;
    return {{y, z, (i + 1) * size / along_y - y, (k + 1) * planes / along_z - z}};
  }
  /// The largest of them, or larger.
  Tile largest() const { return {{0, 0, (size - 1) / along_y + 1, (size / 2 - 1) / along_z + 1}}; }
  /// No block looks further than to the tiles beside its own.
  bool possible() const { return (along_y == 1 || size / along_y >= 2) && size / 2 / along_z >= 1; }
};

/// Threads of a block: a worker for every red word that it updates, and messengers that fetch what others have; both in
/// whole warps.
struct Crew {
  int workers, messengers;

  Crew(const Tile& largest, int row, int most) {
    const auto warps = [](int n) { return (n + 31) / 32 * 32; };
    workers = warps(largest.red().count() * row);
    messengers = std::clamp(most - workers, 0, warps(largest.rows_around() * row));
  }
  bool possible() const { return messengers > 0; }
};

}  // namespace psflip::amsc
