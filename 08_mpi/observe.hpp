#pragma once

#include <vector>

#include "07_amsc/observe/observe.hpp"
#include "08_mpi/slab.hpp"
#include "gpu/check.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// What amsc::ObservePacked finds for each sample, without correlations, as sums over the slab's own sites, with halos
/// that are up to date. Packing::half is slab.elements(). Throws std::runtime_error if the device fails.
std::vector<spin_glass::SampleObservables> observe_slab(const amsc::Packing& packing, const amsc::PackedArrays& arrays,
                                                        const spin_glass::Slab& slab);

/// count_unsatisfied_packed() (07_amsc/tempering/exchange.hpp) over the slab's own red sites.
void count_unsatisfied_slab(const amsc::Packing& packing, const amsc::PackedArrays& arrays,
                            const spin_glass::Slab& slab, unsigned long long* unsatisfied);

}  // namespace psflip::PSFLIP_PLATFORM
