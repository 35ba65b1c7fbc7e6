// Observables counted on the device against those of the host (spin_glass/model/observables.hpp): the same whole
// numbers, however the samples are packed. The host's own are checked by the test of common/spin_glass.
#include "07_amsc/observe/observe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "07_amsc/observe/observe_test.hpp"
#include "gpu/platform_test.hpp"
#include "gpu/platforms.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::amsc {

void PrintTo(const Packing& packing, std::ostream* out) {
  *out << packing.samples << " samples, " << packing.samples_per_stream << " a stream, " << packing.replicas
       << " replicas, " << packing.units << " units of " << packing.interleaved << " replicas an element";
}

namespace {

using spin_glass::Coupling;
using spin_glass::Problem;
using spin_glass::SampleObservables;
using spin_glass::State;
using Couplings = std::vector<std::vector<Coupling>>;
using testing::PrintToString;

using Platform = psflip::Platform<ObserveState>;

const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = {
#if PSFLIP_HAS_GPU
    {"gpu", gpu::devices, gpu::observe_state},
#endif
#if PSFLIP_HAS_CPU
    {"cpu", cpu::devices, cpu::observe_state},
#endif
  };
  return all;
}

Problem problem_of(std::int64_t size, std::int64_t samples, std::int64_t replicas, std::int64_t samples_per_stream) {
  Problem problem;
  problem.size = size;
  problem.samples = samples;
  problem.replicas = replicas;
  problem.samples_per_stream = samples_per_stream;
  problem.ferromagnetic_fraction = 0.6;
  problem.beta = 0.8;
  return problem;
}

Couplings couplings_of(const Problem& problem) {
  Couplings couplings;
  for (std::int64_t sample = 0; sample < problem.samples; ++sample)
    couplings.push_back(sample_couplings(problem, sample));
  return couplings;
}

State after_sweeps(const Problem& problem, std::int64_t half_sweeps) {
  const auto simulation = reference::make_simulation(problem, {});
  simulation->advance(half_sweeps);
  return simulation->state();
}

/// Makes every bond of a replica unsatisfied, if all are ferromagnetic.
void stagger(State& state, std::int64_t sample, std::int64_t replica) {
  const std::int64_t size = state.size, sites = size * size * size;
  for (std::int64_t s = 0; s < sites; ++s) {
    const bool red = (s + s / size + s / (size * size)) % 2 == 0;
    state.spins[static_cast<std::size_t>((sample * state.replicas + replica) * sites + s)] = red ? 1 : -1;
  }
}

std::vector<SampleObservables> on_host(const State& state, const Couplings& couplings, bool correlations) {
  std::vector<SampleObservables> result;
  for (std::int64_t sample = 0; sample < state.samples; ++sample)
    result.push_back(spin_glass::observe(state, sample, couplings[static_cast<std::size_t>(sample)], correlations));
  return result;
}

/// By the definition alone.
std::vector<std::int64_t> brute_force_correlations(const State& state, std::int64_t sample) {
  const std::int64_t size = state.size;
  std::vector<std::int64_t> result;
  for (std::int64_t a = 0; a < state.replicas; ++a) {
    for (std::int64_t b = a + 1; b < state.replicas; ++b) {
      const auto q = [&, one = state.of(sample, a), two = state.of(sample, b)](std::int64_t x, std::int64_t y,
                                                                               std::int64_t z) {
        const std::int64_t s = x % size + size * (y % size + size * (z % size));
        return one[s] * two[s];
      };
      for (std::int64_t r = 0; r <= size / 2; ++r) {
        std::int64_t sum = 0;
        for (std::int64_t z = 0; z < size; ++z)
          for (std::int64_t y = 0; y < size; ++y)
            for (std::int64_t x = 0; x < size; ++x)
              sum += q(x, y, z) * (q(x + r, y, z) + q(x, y + r, z) + q(x, y, z + r));
        result.push_back(sum);
      }
    }
  }
  return result;
}

/// Every way in which engines pack the samples of a problem, and some that none does.
std::vector<Packing> packings(const Problem& problem) {
  std::vector<Packing> all;
  for (const int units : {1, 2, 4}) {
    for (const int interleaved : {1, 2, 4}) {
      if (units * interleaved <= 4) all.push_back(packing(problem, units * Packing::bits, interleaved));
    }
  }
  return all;
}

class Observe : public PlatformTest<platforms> {
 protected:
  void expect_host_observables(const Problem& problem, const std::vector<Packing>& ways, std::int64_t half_sweeps) {
    SCOPED_TRACE("after " + std::to_string(half_sweeps) + " half-sweeps");
    expect_host_observables(problem, ways, after_sweeps(problem, half_sweeps));
  }

  void expect_host_observables(const Problem& problem, const std::vector<Packing>& ways, const State& state) {
    SCOPED_TRACE("L = " + std::to_string(problem.size));
    const Couplings couplings = couplings_of(problem);
    const std::vector<SampleObservables> expected[] = {on_host(state, couplings, false),
                                                       on_host(state, couplings, true)};
    for (const Packing& way : ways) {
      for (const bool correlations : {false, true}) {
        const std::vector<SampleObservables> found = platform_->make_simulation(way, state, couplings, correlations);
        ASSERT_EQ(found.size(), expected[correlations].size()) << PrintToString(way);
        for (std::size_t sample = 0; sample < found.size(); ++sample) {
          SCOPED_TRACE(PrintToString(way) + (correlations ? ", with" : ", without") + " correlations, sample " +
                       std::to_string(sample));
          ASSERT_EQ(found[sample].energies, expected[correlations][sample].energies);
          ASSERT_EQ(found[sample].magnetisations, expected[correlations][sample].magnetisations);
          ASSERT_EQ(found[sample].overlaps, expected[correlations][sample].overlaps);
          ASSERT_EQ(found[sample].correlations, expected[correlations][sample].correlations);
        }
      }
    }
  }
};

TEST_P(Observe, AgreesWithTheHostHoweverSamplesArePacked) {
  for (const std::int64_t samples : {1, 31, 32, 33, 65}) {
    for (const std::int64_t samples_per_stream : {7, 32, 64, 128}) {
      const Problem problem = problem_of(4, samples, 3, samples_per_stream);
      expect_host_observables(problem, packings(problem), 3);
    }
  }
}

TEST_P(Observe, AgreesForAnyNumberOfReplicas) {
  for (const std::int64_t replicas : {1, 2, 3, 4, 5, 9}) {
    const Problem problem = problem_of(6, 33, replicas, 32);
    expect_host_observables(problem, packings(problem), 5);
  }
}

TEST_P(Observe, AgreesForAnySize) {
  for (const std::int64_t size : {4, 6, 8, 10, 12, 14, 16, 18, 24, 26}) {
    const Problem problem = problem_of(size, 3, 2, 32);
    expect_host_observables(problem, {packing(problem, 32, 4), packing(problem, 64, 1)}, 20);
  }
}

TEST_P(Observe, AgreesForOrderedStates) {
  for (const std::int64_t size : {4, 10, 16}) {
    Problem problem = problem_of(size, 40, 2, 64);
    problem.start = spin_glass::Start::ordered;
    for (const std::int64_t half_sweeps : {0, 1})
      expect_host_observables(problem, {packing(problem, 32, 1), packing(problem, 64, 2)}, half_sweeps);
  }
}

TEST_P(Observe, AgreesWhenEveryBitCounts) {
  Problem problem = problem_of(16, 2, 2, 32);
  problem.start = spin_glass::Start::ordered;
  problem.ferromagnetic_fraction = 1;
  State state = after_sweeps(problem, 0);
  stagger(state, 1, 1);
  expect_host_observables(problem, {packing(problem, 32, 4)}, state);
}

/// More distances than the warps of a block can take at once, and of the staggered sample as much as can be counted.
TEST_P(Observe, AgreesForLongLines) {
  const Problem problem = problem_of(70, 2, 2, 32);
  State state = after_sweeps(problem, 2);
  std::fill(state.spins.begin() + std::ssize(state.spins) / 2, state.spins.end(), 1);
  stagger(state, 1, 1);
  expect_host_observables(problem, {packing(problem, 32, 4)}, state);
}

/// More sums than are copied to the host at once, and more lines than enough blocks need.
TEST_P(Observe, AgreesForManyReplicas) {
  const Problem problem = problem_of(10, 3, 47, 1);
  expect_host_observables(problem, {packing(problem, 32, 2)}, 1);
}

TEST_P(Observe, AgreesWithTheDefinitionOfCorrelations) {
  for (const std::int64_t size : {4, 6, 10}) {
    const Problem problem = problem_of(size, 2, 3, 1);
    const State state = after_sweeps(problem, 2);
    const std::vector<SampleObservables> found =
        platform_->make_simulation(packing(problem, 32, 4), state, couplings_of(problem), true);
    for (std::int64_t sample = 0; sample < problem.samples; ++sample)
      EXPECT_EQ(found[static_cast<std::size_t>(sample)].correlations, brute_force_correlations(state, sample));
  }
}

INSTANTIATE_TEST_SUITE_P(Packed, Observe, testing::ValuesIn(names_of(platforms())), by_name);

}  // namespace
}  // namespace psflip::amsc
