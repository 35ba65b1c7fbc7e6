// Which kernel a problem gets.

#include <algorithm>
#include <vector>

#include "07_amsc/kernels.hpp"
#include "spin_glass/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {

using namespace spin_glass;

std::unique_ptr<Simulation> make_simulation(const Problem& problem, const Launch& wish) {
  Offer offer;
  offer.generators = {generators.begin(), generators.end()};
  offer.kernels = {Kernel::wide, Kernel::update};
  offer.samples_per_word = {32};
  for (const int k : {64, 128})
    if (problem.samples_per_stream % k == 0 && wish.kernel != Kernel::update) offer.samples_per_word.push_back(k);
  offer.threads = 128;
  const Launch launch = complete(problem, wish, offer);
  if (launch.kernel == Kernel::update) return make_update(problem, launch);
  return make_wide(problem, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
