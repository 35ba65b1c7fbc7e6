// Observables of a slab; 07_amsc/observe/observe.cuh counts.
#include "08_mpi/observe.hpp"

#include "08_mpi/slab.hpp"

namespace psflip::PSFLIP_PLATFORM::counting {
// Of a slab; before observe.cuh, which asks for them.
__device__ inline int first_plane_owned(const spin_glass::Slab& slab) { return slab.first; }
__device__ inline int planes_owned(const spin_glass::Slab& slab) { return slab.planes; }
}  // namespace psflip::PSFLIP_PLATFORM::counting

#include "07_amsc/observe/observe.cuh"
#include "07_amsc/tempering/exchange.cuh"

namespace psflip::PSFLIP_PLATFORM {

std::vector<spin_glass::SampleObservables> observe_slab(const amsc::Packing& packing, const amsc::PackedArrays& arrays,
                                                        const spin_glass::Slab& slab) {
  const auto no_products = [](const auto&, std::int64_t) { return true; };
  return *counting::observe_owned(packing, arrays, slab, slab.area() * slab.planes, false, no_products);
}

void count_unsatisfied_slab(const amsc::Packing& packing, const amsc::PackedArrays& arrays,
                            const spin_glass::Slab& slab, unsigned long long* unsatisfied) {
  tempering::count_owned(packing, arrays, slab, slab.area() * slab.planes, unsatisfied);
}

}  // namespace psflip::PSFLIP_PLATFORM
