// All ranks make their parts of an engine, or none does.

#include "08_mpi/engine.hpp"

#include <exception>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "07_amsc/kernels/overlapped/tile.hpp"
#include "08_mpi/exchange/exchange.hpp"
#include "08_mpi/passes/passes.hpp"
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

/// Whether two sweeps in one pass are faster than one after the other, as far as was measured (measured.md). Between
/// exchanges of replicas sweeps are too few for passes; host threads take 3.7 times as long.
bool passes_pay([[maybe_unused]] const Problem& problem) {
#ifdef __CUDACC__
  return problem.size >= 128 && problem.size / 2 / ranks().size() >= 8 && !problem.ladder;
#else
  return false;
#endif
}

/// Throws InvalidInput for a launch that the stage does not have.
Launch complete_launch(const Problem& problem, const Launch& wish, int device) {
  Offer offer;
  offer.generators.assign(generators.begin(), generators.end());
  const auto add = [&](Kernel kernel, std::initializer_list<int> words) {
    for (const int k : words)
      if (k == 32 || problem.samples_per_stream % k == 0)  // a word is for one stream
        for (const Transport transport : transports)
          if (kernel == Kernel::wide || can_pass(problem, k, device, ranks().size()))
            offer.launches.push_back({.kernel = kernel, .samples_per_word = k, .transport = transport});
  };
  if (problem.generator == Generator::philox_planes) {
    for (const Transport transport : transports)
      offer.launches.push_back({.kernel = Kernel::synchronous, .transport = transport});
  } else {
    const bool first = passes_pay(problem) && !wish.threads;  // only the other kernel can grant that
    if (first) add(Kernel::overlapped, {64, 128, 32});
    add(Kernel::wide, {128, 64, 32});
    if (!first) add(Kernel::overlapped, {64, 128, 32});
  }
  offer.threads = 128;
  offer.most_threads = 512;
  Launch any_threads = wish;
  if (wish.kernel == Kernel::overlapped) any_threads.threads.reset();
  Launch launch = complete(problem, any_threads, offer);
  if (launch.kernel == Kernel::overlapped) {
    launch.threads = amsc::Tile::threads;  // its tile decides
    std::vector<Launch> only{launch};
    narrow(only, {.threads = wish.threads});
  }
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
    device = device_of_rank(wish);
    Launch launch = complete_launch(problem, wish, device);
    launch.device = device;
    const Slab slab = Slab::of(ranks().rank(), ranks().size(), static_cast<int>(problem.size));
    engine = launch.kernel == Kernel::synchronous  ? make_words(problem, launch, slab)
             : launch.kernel == Kernel::overlapped ? make_passes(problem, launch, slab)
                                                   : make_wide_slab(problem, launch, slab);
  } catch (...) {
    error = std::current_exception();
  }
  ranks().agree(error);
  const ChosenTransport choice = choose_transport(wish.transport, device);
  dynamic_cast<Ranked&>(*engine).connect(choice.transport, choice.reason);
  return engine;
}

}  // namespace psflip::PSFLIP_PLATFORM
