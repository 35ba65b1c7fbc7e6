// Which launch a long run gets: the one that was fastest when all that promised something were tried, here or by an
// earlier run.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "07_amsc/kernels/trials.hpp"
#include "app/stopwatch.hpp"
#include "gpu/check.hpp"
#include "gpu/choice/choice_file.hpp"
#include "gpu/choice/fastest.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

// What trials may take. A run of ten seconds is the shortest that is worth them.
constexpr double share_of_run = 0.03, least_seconds = 0.3, most_seconds = 4;
/// What the making of an engine and a trial take together, about, in sweeps.
constexpr double sweeps_of_trial = 50;
/// Spins that keep a device as busy as more of them do, many waves of clusters at least.
#ifdef __CUDACC__
constexpr double enough_spins = 1ll << 32;
#else
constexpr double enough_spins = 1 << 22;
#endif

/// The same problem, or one with fewer groups of samples where there are very many. Times do not depend on the bonds.
Problem problem_of_trials(const Problem& problem) {
  Problem small = problem;
  small.given_couplings.reset();
  const double of_group =
      static_cast<double>(sites(problem)) * static_cast<double>(problem.replicas * problem.samples_per_stream);
  const double groups = std::max(1.0, std::ceil(enough_spins / of_group));
  small.samples = std::min(problem.samples, static_cast<std::int64_t>(groups) * problem.samples_per_stream);
  return small;
}

/// All that decides which launch is the fastest.
Texts key_of(const Problem& problem, const Launch& wish) {
  cudaDeviceProp properties;
  CHECK_CUDA(cudaGetDeviceProperties(&properties, wish.device));
  int driver = 0;
#ifdef __CUDACC__
  CHECK_CUDA(cudaDriverGetVersion(&driver));
#endif
  Texts key{{"device", properties.name},
            {"multiprocessors", std::to_string(properties.multiProcessorCount)},
            {"driver", std::to_string(driver)},
            {"program", program_identity()},
            {"size", std::to_string(problem.size)},
            {"samples", std::to_string(problem.samples)},
            {"replicas", std::to_string(problem.replicas)},
            {"samples_per_stream", std::to_string(problem.samples_per_stream)},
            {"generator", std::string(name(problem.generator))},
            {"asked", in_words(wish)}};
  if (problem.ladder) key["exchange_every"] = std::to_string(problem.ladder.exchange_every);
  return key;
}

/// Seconds that trials may take; nothing if the run is too short for them.
std::optional<double> budget(const Problem& problem, const Problem& of_trials, const Launch& wish, double expected) {
  const double seconds = std::min(most_seconds, share_of_run * static_cast<double>(wish.sweeps) * expected);
  const double of_one =
      sweeps_of_trial * expected * static_cast<double>(of_trials.samples) / static_cast<double>(problem.samples);
  return seconds >= std::max(least_seconds, of_one) ? std::optional(seconds) : std::nullopt;
}

/// Makes an engine that nobody else sees, one at a time: the memory may have no room for two.
std::optional<double> try_launch(const Problem& problem, const Launch& launch, double seconds) {
  try {
    return seconds_of_sweep(*make_launch(problem, launch), seconds);
  } catch (const std::exception&) {  // no room, or the device has no place for such a cluster
    cudaGetLastError();
    return std::nullopt;
  }
}

}  // namespace

Launch choose(const Problem& problem, const Launch& wish, const std::vector<Possible>& possible) {
  Launch first = possible.front().launch;
  if (wish.sweeps == 0 || possible.size() == 1 || choices_are_off()) return first;
  const ChoiceFile file(choices_folder());
  const Texts key = key_of(problem, wish);
  if (const auto found = file.find(key))
    for (const Possible& one : possible)
      if (Launch launch = one.launch; values_of(launch) == found->values) {
        launch.tried = {.launches = found->tried, .earlier = true};
        return launch;
      }

  const Problem of_trials = problem_of_trials(problem);
  const auto seconds = budget(problem, of_trials, wish, possible.front().expected);
  if (!seconds) return first;
  std::vector<Candidate> candidates;
  for (const Possible& one : possible) candidates.push_back({one.expected, one.group});
  const Stopwatch watch;
  const Fastest found = fastest(
      candidates, *seconds,
      [&](std::size_t i, double for_seconds) { return try_launch(of_trials, possible[i].launch, for_seconds); },
      [&] { return watch.seconds(); });
  Launch launch = possible[found.candidate].launch;
  if (found.tried == 0) return launch;
  if (found.complete) file.remember({key, values_of(launch), found.tried, found.seconds});
  launch.tried = {.launches = found.tried, .seconds = found.took};
  return launch;
}

}  // namespace psflip::PSFLIP_PLATFORM
