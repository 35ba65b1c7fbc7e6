/// A system in the shared memory of a cluster of thread blocks: each block keeps some rows of every plane.
#pragma once

#include "07_amsc/kernels/cluster.cuh"
#include "gpu/check.hpp"
#include "spin_glass/model/geometry.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// Planes of the sliced layout (05_sliced/sliced.hpp), cut into strips of whole rows, one a block. The last block may
/// have fewer rows than the others; the arrays of all are alike.
struct Strip {
  int size;   ///< L
  int ranks;  ///< blocks of the cluster
  int rank;   ///< which of them

  PSFLIP_HOST_DEVICE constexpr int rows() const { return (size - 1) / ranks + 1; }
  PSFLIP_HOST_DEVICE constexpr int first_row() const { return rank * rows(); }
  PSFLIP_HOST_DEVICE constexpr int rows_of(int other) const {
    const int left = size - other * rows();
    return left < rows() ? left : rows();
  }
  PSFLIP_HOST_DEVICE constexpr int previous() const { return spin_glass::before(rank, ranks); }
  PSFLIP_HOST_DEVICE constexpr int next() const { return spin_glass::after(rank, ranks); }
  PSFLIP_HOST_DEVICE constexpr int plane() const { return size * rows(); }  ///< elements
  PSFLIP_HOST_DEVICE constexpr int planes() const { return size / 2; }      ///< of one colour
  /// Whether no block is without a row.
  PSFLIP_HOST_DEVICE constexpr bool possible() const { return (ranks - 1) * rows() < size; }
};

/// An array [plane][row][x] as the sites of one row see it: the rows before and after may be in another block's memory.
template <class T>
struct Rows {
  const T *before, *here, *after;

  /// Of row y of the strip. `alone`: the block is its own neighbour.
  template <bool alone>
  __device__ static Rows of(const Strip& strip, T* array, int y) {
    const auto at = [&](int row, int rank) -> const T* {
      T* const mine = array + strip.size * row;
      if constexpr (alone)
        return mine;
      else
        return rank == strip.rank ? mine : Cluster().in(rank, mine);
    };
    return {y > 0 ? at(y - 1, strip.rank) : at(strip.rows_of(strip.previous()) - 1, strip.previous()),
            at(y, strip.rank), y + 1 < strip.rows_of(strip.rank) ? at(y + 1, strip.rank) : at(0, strip.next())};
  }
};

/// Where in these rows the six neighbours of a site are: three in a plane above, three in one below.
struct Around {
  int right, above, left, below;  ///< right lies in the plane above, left in the one below

  /// `upper` and `lower` are where the two planes begin.
  __device__ Around(const Strip& strip, int x, int upper, int lower)
      : right(upper + spin_glass::after(x, strip.size)),
        above(upper + x),
        left(lower + spin_glass::before(x, strip.size)),
        below(lower + x) {}

  /// Collects the neighbours: the one in direction d from number array(d) of arrays that are `stride` elements apart.
  template <class T, class Array>
  __device__ void look(const Rows<T>& rows, int stride, Array array, T (&found)[spin_glass::directions]) const {
    using namespace spin_glass;
    found[plus_x] = rows.before[stride * array(plus_x) + right];
    found[minus_x] = rows.after[stride * array(minus_x) + left];
    found[plus_y] = rows.after[stride * array(plus_y) + below];
    found[minus_y] = rows.before[stride * array(minus_y) + above];
    found[plus_z] = rows.here[stride * array(plus_z) + above];
    found[minus_z] = rows.here[stride * array(minus_z) + below];
  }
};

/// Planes with a halo: the strip's rows 0 .. rows - 1, and before and after them a copy of the row that the
/// neighbouring block has there. Whoever writes a row at an edge writes the copy, too. So all reading is local, and a
/// row is always one step from the next.
template <class T>
class HaloPlanes {
 public:
  /// Elements of a plane.
  PSFLIP_HOST_DEVICE static constexpr int plane(const Strip& strip) { return strip.size * (strip.rows() + 2); }

  /// `memory` begins at the same place in the shared memory of every block.
  __device__ HaloPlanes(const Strip& strip, T* memory) : strip_(strip), memory_(memory) {
    const Cluster cluster;
    previous_ = cluster.in(strip.previous(), memory) + strip.size * (strip.rows_of(strip.previous()) + 1);
    next_ = cluster.in(strip.next(), memory);
  }

  /// Element (x, y) of the plane that begins at `plane`.
  __device__ const T& at(int plane, int x, int y) const { return memory_[plane + x + strip_.size * (y + 1)]; }

  __device__ void put(int plane, int x, int y, const T& value) const {
    memory_[plane + x + strip_.size * (y + 1)] = value;
    if (y == 0) previous_[plane + x] = value;
    if (y == strip_.rows_of(strip_.rank) - 1) next_[plane + x] = value;
  }

  /// The six neighbours of site (x, y) in the planes that begin at `upper` and `lower`.
  __device__ void look(int upper, int lower, int x, int y, T (&found)[spin_glass::directions]) const {
    using namespace spin_glass;
    const int size = strip_.size;
    found[plus_x] = at(upper, after(x, size), y - 1);
    found[minus_x] = at(lower, before(x, size), y + 1);
    found[plus_y] = at(lower, x, y + 1);
    found[minus_y] = at(upper, x, y - 1);
    found[plus_z] = at(upper, x, y);
    found[minus_z] = at(lower, x, y);
  }

 private:
  Strip strip_;
  T *memory_, *previous_, *next_;
};

}  // namespace psflip::PSFLIP_PLATFORM
