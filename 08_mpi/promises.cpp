// What the shared test asserts of this stage.
#include <algorithm>

#include "08_mpi/passes/promised.hpp"
#include "spin_glass/test/engine_test.hpp"

namespace psflip::spin_glass {

bool promises(const Problem& problem, const Launch& launch, const std::string& platform) {
  const int k = launch.samples_per_word.value_or(32);
  const bool whole_words = k == 32 || ((k == 64 || k == 128) && problem.samples_per_stream % k == 0);
  const bool transport = !launch.transport || launch.transport == Transport::staged ||
                         launch.transport == Transport::peer ||
                         (launch.transport == Transport::mpi && platform == "cpu");
  if (problem.generator == Generator::philox_planes)
    return chooses_only(launch, {"kernel", "transport"}) &&
           launch.kernel.value_or(Kernel::synchronous) == Kernel::synchronous && transport;
  if (!chooses_only(launch, {"kernel", "samples_per_word", "transport"}) || !transport) return false;
  if (!launch.kernel || launch.kernel == Kernel::wide) return whole_words;
  return launch.kernel == Kernel::overlapped && promises_passes(problem, launch, ranks());
}
bool promises(Generator generator, const std::string&) { return std::ranges::count(generators, generator) > 0; }

/// Transports that are there or not as the MPI library and the GPUs are.
bool up_to_the_machine(const Launch& launch, const std::string& platform) {
  return platform == "gpu" &&
         (launch.transport == Transport::mpi || (launch.transport == Transport::nccl && built_with("nccl")));
}
int most_threads() { return 512; }
Launch moving_launch() { return {.kernel = Kernel::wide}; }
double bytes_per_spin() { return 1.0 / 8; }
bool observes_on_the_device() { return true; }
std::vector<Refusal> refusals() { return {}; }

}  // namespace psflip::spin_glass
