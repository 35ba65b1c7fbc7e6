#include "spin_glass/model/problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "app/invalid_input.hpp"
#include "spin_glass/model/disorder.hpp"

namespace psflip::spin_glass {
namespace {

std::string text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.15g", value);
  return buffer;
}

void check_given_couplings(const Problem& problem) {
  const auto& given = *problem.given_couplings;
  if (static_cast<std::int64_t>(given.size()) != problem.samples) {
    throw InvalidInput("couplings are given for " + std::to_string(given.size()) + " samples: the problem has " +
                       std::to_string(problem.samples));
  }
  for (const std::vector<Coupling>& sample : given) {
    if (static_cast<std::int64_t>(sample.size()) != 3 * sites(problem)) {
      throw InvalidInput("a sample has " + std::to_string(sample.size()) + " couplings: with --size " +
                         std::to_string(problem.size) + " it takes " + std::to_string(3 * sites(problem)));
    }
    if (std::ranges::any_of(sample, [](Coupling j) { return j != 1 && j != -1; })) {
      throw InvalidInput("a coupling is neither 1 nor -1");
    }
  }
}

/// Inverse temperatures that are nearer to each other would make a table of exchanges too long.
constexpr double least_difference = 1e-6;

void check_ladder(const Problem& problem) {
  const std::vector<double>& temperatures = problem.ladder.temperatures;
  const auto refuse = [&](const std::string& what) { throw InvalidInput("--temperatures: " + what); };
  if (problem.generator == Generator::philox_planes)
    refuse("--generator is philox-planes: allowed with a ladder are the others");
  if (temperatures.size() < 2) refuse("one is no ladder: allowed are 2 or more; for one there is --temperature");
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    const double now = temperatures[t];
    if (!std::isfinite(now) || !(now > 0) || !std::isfinite(1 / now))
      refuse(text(now) + " is one of them: allowed are numbers > 0 with a finite inverse");
    if (t > 0 && !(1 / temperatures[t - 1] - 1 / now >= least_difference))
      refuse(text(now) + " follows " + text(temperatures[t - 1]) +
             ": they have to rise, and their inverses to differ by " + text(least_difference) + " or more");
  }
  const auto n = static_cast<std::int64_t>(temperatures.size());
  if (problem.replicas % n != 0 || problem.replicas < n || problem.replicas > n * most_copies)
    throw InvalidInput("--copies: " + std::to_string(problem.replicas) + " replicas are no whole copies of " +
                       std::to_string(n) + " temperatures: allowed are 1 to " + std::to_string(most_copies) +
                       " copies");
  if (problem.replicas > most_ladder_replicas)
    refuse(std::to_string(n) + " of them in " + std::to_string(problem.replicas / n) + " copies are " +
           std::to_string(problem.replicas) + " replicas: allowed are " + std::to_string(most_ladder_replicas));
  constexpr std::int64_t most = 100'000'000'000;  // so that twice as many half-sweeps are no overflow
  if (problem.ladder.exchange_every < 1 || problem.ladder.exchange_every > most)
    throw InvalidInput("--exchange-every is " + std::to_string(problem.ladder.exchange_every) + ": allowed are 1 to " +
                       std::to_string(most) + " sweeps");
}

}  // namespace

std::int64_t period(Generator generator) {
  switch (generator) {
    case Generator::minstd:
      return (std::int64_t{1} << 31) - 2;
    case Generator::philox:
      return std::int64_t{1} << 34;  // 32 bits of its counter number the quadruples
    case Generator::philox_planes:
      return std::int64_t{1} << 32;  // or the sweeps, of any number of replicas
    default:
      return std::int64_t{1} << 62;
  }
}

std::optional<int> stream_words(Generator generator) {
  switch (generator) {
    case Generator::minstd:
      return 1;
    case Generator::parisi_rapuano:
      return 61;
    case Generator::mt19937:
      return 624;
    case Generator::philox:
    case Generator::philox_planes:
      return 0;
    default:
      return std::nullopt;
  }
}

void check(const Problem& problem) {
  if (problem.size < smallest_size || problem.size > largest_size || problem.size % 2 != 0) {
    throw InvalidInput("--size is " + std::to_string(problem.size) + ": allowed are even numbers from " +
                       std::to_string(smallest_size) + " to " + std::to_string(largest_size));
  }
  if (!std::isfinite(problem.beta) || problem.beta < 0) {
    throw InvalidInput("--beta is " + text(problem.beta) + ": allowed are finite numbers from 0");
  }
  const auto at_least_one = [](const char* option, std::int64_t value) {
    constexpr std::int64_t most = 1 << 24;  // more would not fit into any memory
    if (value < 1 || value > most) {
      throw InvalidInput(std::string(option) + " is " + std::to_string(value) + ": allowed are 1 to " +
                         std::to_string(most));
    }
  };
  at_least_one("--samples", problem.samples);
  at_least_one("--replicas", problem.replicas);
  at_least_one("--samples-per-stream", problem.samples_per_stream);
  if (problem.first_sample < 0 || problem.first_sample % problem.samples_per_stream != 0 ||
      problem.first_sample > most_numbered_samples - problem.samples) {
    throw InvalidInput("--first-sample is " + std::to_string(problem.first_sample) +
                       ": allowed are multiples of --samples-per-stream, " +
                       std::to_string(problem.samples_per_stream) + ", from 0 to " +
                       std::to_string(most_numbered_samples - problem.samples));
  }
  if (problem.first_sample != 0 && problem.generator == Generator::curand_mtgp32) {
    throw InvalidInput(
        "--first-sample is " + std::to_string(problem.first_sample) +
        ": the random numbers of curand-mtgp32 are those of thread blocks, not of samples; allowed is 0");
  }
  if (problem.generator == Generator::philox_planes && problem.samples_per_stream != 1) {
    throw InvalidInput("--samples-per-stream is " + std::to_string(problem.samples_per_stream) +
                       ": with --generator philox-planes every sample has random numbers of its own, so allowed is 1");
  }
  if (!(problem.ferromagnetic_fraction >= 0 && problem.ferromagnetic_fraction <= 1)) {
    throw InvalidInput("--ferromagnetic-fraction is " + text(problem.ferromagnetic_fraction) + ": allowed are 0 to 1");
  }
  if (problem.ladder) check_ladder(problem);
  if (problem.given_couplings) {
    check_given_couplings(problem);
  }
}

std::vector<Coupling> sample_couplings(const Problem& problem, std::int64_t sample) {
  if (problem.given_couplings) {
    return (*problem.given_couplings)[sample];
  }
  std::vector<Coupling> couplings(3 * sites(problem));
  const Origin from = origin(problem);
  const std::uint64_t probability = units_of_probability(problem.ferromagnetic_fraction);
  for (std::size_t bond = 0; bond < couplings.size(); ++bond) {
    couplings[bond] = is_ferromagnetic(from, sample, static_cast<std::int64_t>(bond), probability) ? 1 : -1;
  }
  return couplings;
}

std::vector<Spin> start_spins(const Problem& problem, std::int64_t sample, std::int64_t replica) {
  std::vector<Spin> spins(sites(problem), 1);
  const Origin from = origin(problem);
  if (problem.start == Start::random) {
    for (std::size_t s = 0; s < spins.size(); ++s) {
      spins[s] = starts_up(from, sample, replica, static_cast<std::int64_t>(s)) ? 1 : -1;
    }
  }
  return spins;
}

Thresholds thresholds(double beta, Generator generator) {
  const double values = generator == Generator::minstd ? 0x1p31 - 2 : 0x1p32;
  Thresholds result{};
  for (int unsatisfied = 0; unsatisfied < 3; ++unsatisfied) {
    const double energy = 12 - 4 * unsatisfied;
    result.of[unsatisfied] =
        static_cast<std::uint32_t>(std::min(std::floor(std::exp(-beta * energy) * values), 0x1p32 - 1));
  }
  return result;
}

ReplicaThresholds thresholds(const Problem& problem) {
  ReplicaThresholds result{};
  for (std::int64_t replica = 0; replica < most_ladder_replicas; ++replica)
    result.of[replica] = thresholds(beta_of(problem, replica), problem.generator);
  return result;
}

}  // namespace psflip::spin_glass
