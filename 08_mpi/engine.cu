// All ranks make their parts of an engine, or none does.

#include "08_mpi/engine.hpp"

#include <exception>
#include <memory>
#include <string>

#include "08_mpi/exchange/exchange.hpp"
#include "08_mpi/ranks/ranks.hpp"
#include "08_mpi/slab.hpp"
#include "08_mpi/update.hpp"
#include "app/invalid_input.hpp"
#include "spin_glass/engine/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

int device_of_rank(const Launch& launch) {
  int devices = 0;
  CHECK_CUDA(cudaGetDeviceCount(&devices));
  return devices > 0 ? (launch.device + ranks().local_rank()) % devices : launch.device;
}

/// Throws InvalidInput for a launch that the stage does not have.
Launch complete_launch(const Problem& problem, const Launch& wish) {
  Offer offer;
  offer.generators.assign(generators.begin(), generators.end());
  const bool words = problem.generator == Generator::philox_planes;
  for (const int k : {128, 64, 32})
    if (!words && (k == 32 || problem.samples_per_stream % k == 0))  // a word is for one stream
      for (const Transport transport : transports)
        offer.launches.push_back({.kernel = Kernel::wide, .samples_per_word = k, .transport = transport});
  for (const Transport transport : transports)
    if (words) offer.launches.push_back({.kernel = Kernel::synchronous, .transport = transport});
  offer.threads = 128;
  offer.most_threads = 512;
  const Launch launch = complete(problem, wish, offer);
  if (const std::int64_t planes = problem.size / 2; ranks().size() > planes)
    throw InvalidInput("--size " + std::to_string(problem.size) + " has " + std::to_string(planes) +
                       " planes of a colour: allowed are 1 to " + std::to_string(planes) + " ranks, not " +
                       std::to_string(ranks().size()));
  return launch;
}

}  // namespace

std::unique_ptr<Simulation> make_engine(const Problem& problem, const Launch& wish) {
  std::unique_ptr<Simulation> engine;
  std::exception_ptr error;
  int device = 0;
  try {
    Launch launch = complete_launch(problem, wish);
    launch.device = device = device_of_rank(wish);
    const Slab slab = Slab::of(ranks().rank(), ranks().size(), static_cast<int>(problem.size));
    engine = launch.kernel == Kernel::synchronous ? make_words(problem, launch, slab)
                                                  : make_overlapped(problem, launch, slab);
  } catch (...) {
    error = std::current_exception();
  }
  ranks().agree(error);
  const ChosenTransport choice = choose_transport(wish.transport, device);
  dynamic_cast<Ranked&>(*engine).connect(choice.transport, choice.reason);
  return engine;
}

}  // namespace psflip::PSFLIP_PLATFORM
