// An assignment has one kernel to choose from.

#include "07_amsc/kernels/kernels.hpp"
#include "spin_glass/engine/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {

using namespace spin_glass;

std::unique_ptr<Simulation> make_simulation(const Problem& problem, const Launch& wish) {
  const Offer offer{.launches = {{.kernel = Kernel::update, .samples_per_word = 32}},
                    .generators = {stream_generators.begin(), stream_generators.end()},
                    .threads = 128,
                    .most_threads = 512};
  return make_update(problem, complete(problem, wish, offer));
}

}  // namespace psflip::PSFLIP_PLATFORM
