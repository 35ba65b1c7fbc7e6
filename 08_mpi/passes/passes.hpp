/// Two sweeps in one pass over memory, on many ranks.
#pragma once

#include <memory>

#include "08_mpi/slab.hpp"
#include "gpu/check.hpp"
#include "spin_glass/engine/simulation.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// Whether the ranks can have the kernel `overlapped` for words of so many samples: what it takes of a device (stage
/// 07), two planes of each colour for every rank, and an int for every element of a slab with its halos.
bool can_pass(const spin_glass::Problem& problem, int samples_per_word, int device, int ranks);

/// The engine of passes.cu for a rank's slab, a Ranked, as update.cu's is.
std::unique_ptr<spin_glass::Simulation> make_passes(const spin_glass::Problem& problem,
                                                    const spin_glass::Launch& launch, const spin_glass::Slab& slab);

}  // namespace psflip::PSFLIP_PLATFORM
