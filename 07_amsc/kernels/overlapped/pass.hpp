/// A pass, two sweeps by one launch: what an engine says to the kernel (march.cuh), for a lattice (overlapped.cu) or
/// for the slab that a rank has of one (stage 08).
#pragma once

#include <cstddef>
#include <cstdint>

#include "05_sliced/sliced.hpp"
#include "07_amsc/kernels/overlapped/gauge.cuh"
#include "07_amsc/kernels/overlapped/tile.hpp"
#include "gpu/constants.hpp"
#include "random/streams.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// How planes are cut: a block has a tile of columns, and of the planes a chunk.
struct Cut {
  int tiles_x, tiles_y, chunks;
  int rows;  ///< of a tile
};

/// Steps that a device takes for so many planes: a wave of blocks after the other, and a block takes three more than it
/// has planes. `systems`: words, and parts of their replicas, that blocks have.
double steps_of(const Cut& cut, int planes, std::int64_t systems, int blocks_at_once);
/// Chunks so that few multiprocessors are idle in the last wave of blocks.
Cut cut_for(int size, int planes, std::int64_t systems, int blocks_at_once);

/// What is the same for all threads of a launch. Planes have the numbers that they have in the lattice, 0 .. L / 2 - 1
/// of each colour; -1 is L / 2 - 1, too, and so on.
struct Pass {
  Sliced layout;
  int begin, end;      ///< planes begin .. end - 1 are updated; read are those from begin - 2 to end + 1
  int lowest, stored;  ///< the arrays have planes lowest .. lowest + stored - 1; a lattice that is whole goes round
  Cut cut;
  int parts;  ///< blocks that share the replicas of a word
  int replicas;
  std::int64_t words, words_per_group;
  Origin origin;
  std::int64_t sweep;  ///< number of the first
  spin_glass::ReplicaThresholds thresholds;
  const void* before[2];  ///< the spins of a colour, [word][bundle][element]; in the gauge
  void* after[2];         ///< arrays of their own: a block's neighbours still need what was there before
};

/// Whether the device has the kernel for words of so many samples: it takes compute capability 9.0, Philox, and
/// replicas that fill 16 bytes.
bool can_march(const spin_glass::Problem& problem, int samples_per_word, int device);

/// The kernel for words of `units` x 32 samples; a block has `bundles` times 16 bytes of a site.
template <int units, int bundles>
struct PassKernel {
  static constexpr int replicas = bundles * filling<units>;  ///< of a block
  /// For two flips of a word: spins in and out, and two bonds for all replicas of a block.
  static constexpr double bytes_per_flip =
      (2 + 2.0 / replicas) * sizeof(std::uint32_t) / Packing::bits / amsc::Tile::sweeps;

  static void prepare();  ///< before the first launch
  /// Throws like CHECK_CUDA.
  static void launch(const Pass& pass, const GaugedBonds<units>& bonds, cudaStream_t stream);
};

/// Of 16 bytes, that a block has of a word.
constexpr int bundles_for(int units, std::int64_t replicas) { return units == 2 && replicas % 4 == 0 ? 2 : 1; }

/// Calls f.operator()<units, bundles>() for the kernel that the problem takes.
template <class F>
auto with_pass(int units, std::int64_t replicas, F f) {
  if (units == 2 && bundles_for(units, replicas) == 2) return f.template operator()<2, 2>();
  return with_constant<1, 2, 4>(units, [&]<int known_units>() { return f.template operator()<known_units, 1>(); });
}

/// Half-sweeps, of which an engine has done some: first one_by_one(n) to a whole sweep, then in_passes(n), then the
/// others; or all one by one if they are too few for the way into the gauge and out of it, as much traffic as nearly
/// two passes.
template <class OneByOne, class InPasses>
void advance_in_passes(std::int64_t done, std::int64_t half_sweeps, OneByOne one_by_one, InPasses in_passes) {
  const std::int64_t odd = done % 2, passes = (half_sweeps - odd) / amsc::Tile::stages, fewest = 3;
  if (passes < fewest) return one_by_one(half_sweeps);
  one_by_one(odd);
  in_passes(passes);
  one_by_one(half_sweeps - odd - passes * amsc::Tile::stages);
}

}  // namespace psflip::PSFLIP_PLATFORM
