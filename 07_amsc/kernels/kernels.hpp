/// The kernels of this stage, one file each; all have the same bits.
#pragma once

#include <cstddef>

#include "spin_glass/engine/simulation.hpp"

namespace psflip::amsc {
struct Crew;  // synchronous/tiles.hpp
}

namespace psflip::PSFLIP_PLATFORM {

// The launch is complete: it is one that make_simulation (choose.cu) offers for the problem. Throw InvalidInput for a
// problem that does not fit into the device's memory.
spin_glass::MakeSimulation make_update;    ///< update.cu, the lesson: a thread takes a site and a word of 32 samples
spin_glass::MakeSimulation make_wide;      ///< wide.cu: 16 bytes of spins at once, words of 32, 64 or 128 samples
spin_glass::MakeSimulation make_resident;  ///< resident.cu: a whole system stays on the chip for many sweeps
/// overlapped/: two sweeps in one pass over memory; Philox only
spin_glass::MakeSimulation make_overlapped;
/// synchronous/: a word is 32 sites of one sample; philox-planes only, and nobody else has that
spin_glass::MakeSimulation make_synchronous;
spin_glass::MakeSimulation make_spread;  ///< synchronous/: the same for one small system, on the chip
spin_glass::MakeSimulation make_small;   ///< small.cu: every site has a thread of its own

/// For how many replicas a system of the kernels with clusters makes draws: all of 1, 2 or 4. Philox, which has no
/// state to share, can begin anywhere: with it, any multiple of 4 is done in fours. 0: the kernels cannot have the
/// problem.
inline int replicas_drawn(const spin_glass::Problem& problem) {
  const std::int64_t replicas = problem.replicas;
  if (replicas == 1 || replicas == 2 || replicas == 4) return static_cast<int>(replicas);
  return replicas % 4 == 0 && problem.generator == spin_glass::Generator::philox ? 4 : 0;
}

// Bytes of shared memory that a block takes.
std::size_t resident_bytes(const spin_glass::Problem& problem, const spin_glass::Launch& launch);
std::size_t small_bytes(const spin_glass::Problem& problem, const spin_glass::Launch& launch);

/// Steps, each a plane of a tile, that a device takes one after the other for a pass of `overlapped` over so many
/// words.
double overlapped_steps(const spin_glass::Problem& problem, int samples_per_word, std::int64_t words,
                        int multiprocessors);

/// The threads of a block of `spread`; without messengers if a block cannot have its part of the problem.
amsc::Crew spread_crew(const spin_glass::Problem& problem, const spin_glass::Launch& launch);
/// How many of its blocks the device can have at once.
std::int64_t spread_blocks(const spin_glass::Problem& problem, const spin_glass::Launch& launch);

}  // namespace psflip::PSFLIP_PLATFORM
