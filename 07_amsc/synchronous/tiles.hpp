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

/// A tile, and how far a block that has it looks beyond: by `reach` rows on either side along y', and by a half-plane
/// along z'.
///
/// reach = 1: the block updates its tile, and needs the words beside it, after every half-sweep those that were
/// updated. reach = 2: it also updates the red words beside its tile, as other blocks do. So it needs more blue words,
/// but no red ones: it has to be told once per sweep.
struct SystemTile {
  Box own;
  int reach;

  /// What a block keeps of a colour.
  PSFLIP_HOST_DEVICE constexpr Box kept(spin_glass::Colour colour) const {
    if (colour == spin_glass::red) return {own.y - 1, own.z, own.rows + 2, own.planes + 1};
    return {own.y - reach, own.z - 1, own.rows + 2 * reach, own.planes + reach};
  }
  /// What it updates, row by row: all red rows that it keeps but the first and the last, which no blue one of the tile
  /// is beside; or its tile.
  PSFLIP_HOST_DEVICE constexpr bool updates_around(spin_glass::Colour colour) const {
    return colour == spin_glass::red && reach == 2;
  }
  PSFLIP_HOST_DEVICE constexpr int rows_updated(spin_glass::Colour colour) const {
    return updates_around(colour) ? kept(colour).count() - 2 : own.count();
  }
  /// Number n of these, as a row of kept().
  PSFLIP_HOST_DEVICE constexpr int row_updated(spin_glass::Colour colour, int n) const {
    if (updates_around(colour)) return n + 1;
    const Box box = kept(colour);
    return n % own.rows + own.y - box.y + box.rows * (n / own.rows + own.z - box.z);
  }
  /// Rows that it keeps, and others update for it.
  PSFLIP_HOST_DEVICE constexpr int rows_told(spin_glass::Colour colour) const {
    return updates_around(colour) ? 0 : kept(colour).count() - own.count();
  }
  /// Number n of these, as a row of kept().
  PSFLIP_HOST_DEVICE constexpr int row_told(spin_glass::Colour colour, int n) const {
    const Box box = kept(colour);
    const int before = own.z - box.z, whole = (box.planes - own.planes) * box.rows;  // in half-planes beyond the tile
    if (n < whole) return n < before * box.rows ? n : n + own.planes * box.rows;
    const int beside = box.rows - own.rows, k = (n - whole) % beside;
    return (before + (n - whole) / beside) * box.rows + (k < own.y - box.y ? k : k + own.rows);
  }
  /// Whether blocks beside have to be told of a row of the tile.
  PSFLIP_HOST_DEVICE constexpr bool at_edge(int y, int z) const {
    return y - own.y < reach || own.y + own.rows - y <= reach || z == own.z || z == own.z + own.planes - 1;
  }
};

/// All tiles of a system: along y' as many as along z', or twice as many. A half-sweep has L rows along y', and L / 2
/// half-planes.
struct SystemTiles {
  int size, reach, along_y, along_z;

  /// blocks: a power of two.
  PSFLIP_HOST_DEVICE constexpr SystemTiles(int of_size, int blocks, int with_reach)
      : size(of_size), reach(with_reach), along_y(1), along_z(1) {
    for (int n = 1; n < blocks; n *= 2) (along_y > along_z ? along_z : along_y) *= 2;
  }

  PSFLIP_HOST_DEVICE constexpr SystemTile tile(int block) const {
    const int i = block % along_y, k = block / along_y, half = size / 2;
    const int y = i * size / along_y, z = k * half / along_z;
    return {{y, z, (i + 1) * size / along_y - y, (k + 1) * half / along_z - z}, reach};
  }
  /// The largest of them, or larger.
  SystemTile largest() const { return {{0, 0, (size - 1) / along_y + 1, (size / 2 - 1) / along_z + 1}, reach}; }
  /// No block looks further than to the tiles beside its own.
  bool possible() const { return (along_y == 1 || size / along_y >= reach) && size / 2 / along_z >= 1; }
};

/// The threads of a block, in whole warps: for each colour a worker per word that it updates, and messengers that fetch
/// what others have updated.
struct Crew {
  int workers[2], messengers;

  Crew(const SystemTile& largest, int row, int most) {
    const auto warps = [](int n) { return (n + 31) / 32 * 32; };
    int told = 0;
    for (const auto colour : {spin_glass::red, spin_glass::blue}) {
      workers[colour] = warps(largest.rows_updated(colour) * row);
      told = std::max(told, largest.rows_told(colour) * row);
    }
    messengers = std::clamp(most - all_workers(), 0, warps(told));
  }
  PSFLIP_HOST_DEVICE constexpr int all_workers() const { return workers[spin_glass::red] + workers[spin_glass::blue]; }
  PSFLIP_HOST_DEVICE constexpr int threads() const { return all_workers() + messengers; }
  bool possible() const { return messengers > 0; }
};

}  // namespace psflip::amsc
