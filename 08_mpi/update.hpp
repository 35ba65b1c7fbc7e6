#pragma once

#include <memory>

#include "08_mpi/slab.hpp"
#include "gpu/check.hpp"
#include "spin_glass/engine/simulation.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// The engine of update.cu for a rank's slab, a Ranked, not yet connected to the others. The launch is complete but for
/// the transport. Throws InvalidInput if the device's memory cannot hold it.
std::unique_ptr<spin_glass::Simulation> make_wide_slab(const spin_glass::Problem& problem,
                                                       const spin_glass::Launch& launch, const spin_glass::Slab& slab);
/// The same of words.cu, for philox-planes.
std::unique_ptr<spin_glass::Simulation> make_words(const spin_glass::Problem& problem, const spin_glass::Launch& launch,
                                                   const spin_glass::Slab& slab);

}  // namespace psflip::PSFLIP_PLATFORM
