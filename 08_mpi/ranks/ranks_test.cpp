// Many ranks give what one loop gives: compiled into this stage's spin_glass_test, after what all stages are tested
// for. Rank 0 runs the tests, through the same interface as the program.
//
//   mpirun -n 4 spin_glass_test --gtest_filter='Ranks/*/cpu'
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "08_mpi/passes/promised.hpp"
#include "08_mpi/ranks/ranks.hpp"
#include "app/invalid_input.hpp"
#include "gpu/platform_test.hpp"
#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/observables.hpp"

namespace psflip::spin_glass {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// At first colour by colour, then as many at once as it takes for streams to get out of step.
constexpr std::array half_sweeps{1, 2, 8};

Problem problem_of(std::int64_t size, std::int64_t samples, std::int64_t replicas,
                   Generator generator = Generator::minstd) {
  Problem problem;
  problem.size = size;
  problem.beta = 0.7;
  problem.samples = samples;
  problem.replicas = replicas;
  problem.samples_per_stream = 128;  // which words of 32, 64 and 128 samples divide
  problem.generator = generator;
  problem.seed = 1411'0127;
  return problem;
}

/// The next size with a plane for every rank.
std::int64_t at_least(std::int64_t size) { return std::max<std::int64_t>(size, 2 * ranks().size()); }

bool has_passes() {
  return promises_passes(problem_of(4 * ranks().size(), 1, 4, Generator::philox), {}, ranks().size());
}

/// From thin slabs to thick ones, even and odd numbers of planes: not all have the same number, as a rule.
std::vector<std::int64_t> sizes() {
  std::vector<std::int64_t> all;
  for (std::int64_t size = at_least(6); size <= at_least(14); size += 2) all.push_back(size);
  return all;
}

/// A state that differs is told by its first spin.
testing::AssertionResult same(const State& found, const State& expected) {
  if (found == expected) return testing::AssertionSuccess();
  const auto at = std::ranges::mismatch(found.spins, expected.spins).in1 - found.spins.begin();
  return testing::AssertionFailure() << "spins are wrong, the first number " << at << " of " << expected.spins.size();
}

std::vector<std::uint32_t> streams(const Simulation& simulation) {
  std::vector<std::uint32_t> words;
  dynamic_cast<const Resumable&>(simulation).save_streams([&](std::span<const std::uint32_t> word) {
    std::ranges::copy(word, std::back_inserter(words));
  });
  return words;
}

void resume(Simulation& simulation, std::int64_t done, const State& state, const std::vector<std::uint32_t>& streams) {
  auto next = streams.begin();
  dynamic_cast<Resumable&>(simulation).resume(done, state, [&](std::span<std::uint32_t> word) {
    std::ranges::copy_n(next, std::ssize(word), word.begin());
    next += std::ssize(word);
  });
}

/// Stage 00 after each of some numbers of half-sweeps more.
template <class Numbers>
std::vector<State> expected_after(const Problem& problem, const Numbers& numbers) {
  const auto reference = reference::make_simulation(problem, {});
  std::vector<State> states;
  for (const std::int64_t more : numbers) {
    reference->advance(more);
    states.push_back(reference->state());
  }
  return states;
}

class Slabs : public PlatformTest<platforms> {
 protected:
  std::unique_ptr<Simulation> make(const Problem& problem, const Launch& launch = {}) const {
    return platform_->make(problem, launch);
  }

  /// The one line in which the ranks refuse; empty if they do not.
  std::string refusal(const Problem& problem, const Launch& launch = {}) const {
    try {
      make(problem, launch);
    } catch (const InvalidInput& error) {
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      return error.what();
    }
    return "";
  }

  /// Host threads have all but NCCL; of GPUs not all are close enough to each other for all.
  std::vector<Transport> transports_here() const {
    std::vector<Transport> here;
    for (const Transport transport : transports) {
      const bool there = refusal(problem_of(at_least(4), 1, 1), {.transport = transport}).empty();
      if (GetParam() == "cpu") {
        EXPECT_EQ(there, transport != Transport::nccl) << name(transport);
      }
      if (there) here.push_back(transport);
    }
    EXPECT_THAT(here, testing::Contains(Transport::staged));
    return here;
  }

  void expect_reference_bits(const Problem& problem, const std::vector<Launch>& launches) const {
    const std::vector<State> expected = expected_after(problem, half_sweeps);
    for (const Launch& launch : launches) {
      SCOPED_TRACE(describe(problem, launch));
      const auto simulation = make(problem, launch);
      std::int64_t done = 0;
      for (std::size_t i = 0; i < half_sweeps.size(); ++i) {
        EXPECT_GE(simulation->advance(half_sweeps[i]), 0);
        done += half_sweeps[i];
        ASSERT_EQ(simulation->half_sweeps(), done);
        ASSERT_TRUE(same(simulation->state(), expected[i])) << "after " << done << " half-sweeps";
      }
    }
  }

  static std::string describe(const Problem& problem, const Launch& launch) {
    return std::to_string(ranks().size()) + " ranks, L = " + std::to_string(problem.size) + ", " +
           std::to_string(problem.samples) + " samples of " + std::to_string(problem.replicas) + " replicas, " +
           std::string(name(problem.generator)) + ", transport " +
           (launch.transport ? std::string(name(*launch.transport)) : "left to the stage") + ", words of " +
           std::to_string(launch.samples_per_word.value_or(0));
  }
};

/// All sizes, samples and replicas. Generators, words and transports take turns, so that each meets each of those.
TEST_P(Slabs, HaveTheBitsOfOneLoop) {
  const std::vector<Transport> here = transports_here();
  std::size_t of_size = 0;
  for (const std::int64_t size : sizes()) {
    std::size_t of_samples = of_size++;
    for (const std::int64_t samples : {1, 33, 65}) {
      std::size_t of_replicas = of_samples++;
      for (const std::int64_t replicas : {1, 2, 4, 5}) {
        const std::size_t turn = of_replicas++;
        const Launch launch{.samples_per_word = 32 << turn % 3, .transport = here[(turn + of_samples) % here.size()]};
        expect_reference_bits(problem_of(size, samples, replicas, stream_generators[turn % 4]), {launch});
      }
    }
  }
}

TEST_P(Slabs, HaveTheBitsOfOneLoopForEveryGeneratorWordAndTransport) {
  std::vector<Launch> launches;
  for (const Transport transport : transports_here()) {
    for (const int word : {32, 64, 128}) launches.push_back({.samples_per_word = word, .transport = transport});
  }
  for (const Generator generator : stream_generators) {
    expect_reference_bits(problem_of(at_least(6), 3, 5, generator), launches);
  }
}

/// Words of 6, 8, ... sites, two words in a row, systems of one, two and four replicas, no matter how planes travel.
TEST_P(Slabs, HaveTheBitsOfOneLoopInWordsOfSites) {
  const std::vector<Transport> here = transports_here();
  std::vector<std::int64_t> all = sizes();
  all.push_back(at_least(36));
  for (std::size_t turn = 0; turn < all.size(); ++turn) {
    for (const std::int64_t replicas : {1, 2, 4}) {
      Problem problem = problem_of(all[turn], all[turn] < 36 ? 3 : 1, replicas, Generator::philox_planes);
      problem.samples_per_stream = 1;
      expect_reference_bits(problem, {{.transport = here[(turn + static_cast<std::size_t>(replicas)) % here.size()]}});
    }
  }
}

TEST_P(Slabs, AreMeasuredAndGoOnInWordsOfSites) {
  Problem problem = problem_of(at_least(10), 3, 4, Generator::philox_planes);
  problem.samples_per_stream = 1;
  const auto reference = reference::make_simulation(problem, {});
  const auto one = make(problem), used = make(problem);
  used->advance(4);
  for (const std::int64_t more : {0, 3, 5}) {
    reference->advance(more);
    one->advance(more);
    const State expected = reference->state();
    EXPECT_TRUE(same(one->state(), expected));
    for (const bool correlations : {false, true}) {
      const auto found = dynamic_cast<const Observing&>(*one).observe(correlations);
      ASSERT_TRUE(found && std::ssize(*found) == problem.samples);
      for (std::int64_t sample = 0; sample < problem.samples; ++sample)
        EXPECT_TRUE((*found)[sample] == observe(expected, sample, sample_couplings(problem, sample), correlations));
    }
    resume(*used, reference->half_sweeps(), expected, {});
    EXPECT_TRUE(same(used->state(), expected));
    const auto after = reference::make_simulation(problem, {});
    after->advance(reference->half_sweeps() + 4);
    used->advance(4);
    EXPECT_TRUE(same(used->state(), after->state()));
    used->restart();
    used->advance(1);
  }
}

/// One plane, a slab of one plane, has no bulk: its boundary plane is all that there is.
TEST_P(Slabs, MayBeOnePlaneThin) {
  for (const Transport transport : transports_here()) {
    expect_reference_bits(problem_of(at_least(4), 33, 4), {{.transport = transport}});
  }
}

/// Two sweeps in one pass: ranks with two planes and more, whose ends meet or leave a middle; before and after passes
/// half-sweeps, and passes again.
TEST_P(Slabs, HaveTheBitsOfOneLoopInPasses) {
  if (!has_passes()) GTEST_SKIP() << "an assignment goes without them";
  const std::vector<Transport> here = transports_here();
  const std::array words{32, 64, 64}, replicas{4, 4, 2};
  const std::array steps{1, 14, 22, 3};
  std::size_t turn = 0;
  for (const int planes : {2, 3, 5}) {
    if (planes == 5 && ranks().size() > 3) continue;             // long, and no other than with fewer ranks
    const int more = ranks().size() > 1 && planes == 3 ? 1 : 0;  // a rank has one more than the others
    const Problem problem = problem_of(2 * (planes * ranks().size() + more), 33, replicas[turn], Generator::philox);
    const std::vector<State> expected = expected_after(problem, steps);
    for (const Transport transport : here) {
      const Launch launch{.kernel = Kernel::overlapped, .samples_per_word = words[turn], .transport = transport};
      SCOPED_TRACE(describe(problem, launch));
      const auto simulation = make(problem, launch);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        simulation->advance(steps[i]);
        ASSERT_TRUE(same(simulation->state(), expected[i])) << "of the steps, after number " << i;
      }
    }
    ++turn;
  }
  for (const int word : {64, 128}) {
    const Problem problem =
        problem_of(std::max(6, 4 * ranks().size()), word + 1, word == 64 ? 8 : 3, Generator::philox);
    const auto simulation = make(problem, {.kernel = Kernel::overlapped, .samples_per_word = word});
    simulation->advance(24);
    EXPECT_TRUE(same(simulation->state(), expected_after(problem, std::array{24}).front())) << "words of " << word;
  }
  if (ranks().size() > 1) {
    const Problem problem = problem_of(2 * (2 * ranks().size() - 1), 3, 4, Generator::philox);
    EXPECT_THAT(refusal(problem, {.kernel = Kernel::overlapped}), HasSubstr("overlapped"));
  }
}

/// Long enough for a rank to run ahead of the others, if anything let it.
TEST_P(Slabs, KeepInStep) {
  struct Run {
    Kernel kernel;
    Problem problem;
    int half_sweeps;
  };
  const std::array runs{
      Run{Kernel::wide, problem_of(at_least(8), 33, 4), 301},
      Run{Kernel::overlapped, problem_of(std::max(8, 4 * ranks().size()), 3, 4, Generator::philox), 101}};
  for (const Run& run : runs) {
    if (run.kernel == Kernel::overlapped && !has_passes()) continue;
    const State expected = expected_after(run.problem, std::array{run.half_sweeps}).front();
    for (const Transport transport : transports_here()) {
      const auto simulation = make(run.problem, {.kernel = run.kernel, .transport = transport});
      simulation->advance(run.half_sweeps);
      EXPECT_TRUE(same(simulation->state(), expected)) << name(run.kernel) << ", " << name(transport);
    }
  }
}

TEST_P(Slabs, AreMeasuredAsOneLattice) {
  for (const std::int64_t size : {at_least(6), at_least(10)}) {
    for (const auto& [samples, replicas, word] : {std::tuple{1, 1, 64}, {33, 4, 32}, {65, 5, 32}, {130, 2, 128}}) {
      const Problem problem = problem_of(size, samples, replicas);
      const auto simulation = make(problem, {.samples_per_word = word});
      for (const std::int64_t more : {0, 3}) {
        simulation->advance(more);
        const State state = simulation->state();
        for (const bool correlations : {false, true}) {
          const auto found = dynamic_cast<const Observing&>(*simulation).observe(correlations);
          ASSERT_TRUE(found.has_value());
          ASSERT_EQ(std::ssize(*found), problem.samples);
          for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
            ASSERT_TRUE((*found)[sample] == observe(state, sample, sample_couplings(problem, sample), correlations))
                << describe(problem, simulation->launch()) << ", sample " << sample << ", after "
                << simulation->half_sweeps() << " half-sweeps, " << (correlations ? "with" : "without")
                << " correlations";
          }
        }
        ASSERT_TRUE(same(simulation->state(), state)) << "measuring changed it";
      }
    }
  }
}

TEST_P(Slabs, GoOnWhereOneLoopWas) {
  const std::vector<Transport> here = transports_here();
  std::size_t number = 0;
  for (const Generator generator : stream_generators) {
    const bool many_words = generator == Generator::mt19937;  // 624 for each stream, which travel one by one
    for (const std::int64_t done : many_words ? std::vector<std::int64_t>{31} : std::vector<std::int64_t>{1, 30}) {
      Problem problem = problem_of(at_least(6), 33, 3, generator);
      problem.samples_per_stream = 32;  // two streams a site
      const Launch launch{.transport = here[number++ % here.size()]};
      SCOPED_TRACE(describe(problem, launch) + ", " + std::to_string(done) + " half-sweeps");
      const auto reference = reference::make_simulation(problem, {});
      reference->advance(done);
      const State before = reference->state();
      const std::vector<std::uint32_t> expected = streams(*reference);
      reference->advance(5);
      const State after = reference->state();
      const std::vector<std::uint32_t> expected_after = streams(*reference);

      const auto one = make(problem, launch), fresh = make(problem, launch), used = make(problem, launch);
      one->advance(done);
      EXPECT_TRUE(streams(*one) == expected);
      one->advance(5);
      EXPECT_TRUE(same(one->state(), after)) << "saving changed it";
      used->advance(7);
      for (Simulation* const other : {fresh.get(), used.get()}) {
        resume(*other, done, before, expected);
        EXPECT_TRUE(same(other->state(), before));
        EXPECT_TRUE(streams(*other) == expected);
        other->advance(5);
        EXPECT_EQ(other->half_sweeps(), done + 5);
        EXPECT_TRUE(same(other->state(), after));
        EXPECT_TRUE(streams(*other) == expected_after);
      }
    }
  }
}

/// Halos too are as they were.
TEST_P(Slabs, StartAgain) {
  const Problem problem = problem_of(at_least(6), 33, 2);
  const std::vector<State> expected = expected_after(problem, std::array{0, 7});
  for (const Transport transport : transports_here()) {
    const auto simulation = make(problem, {.transport = transport});
    for (const std::int64_t wasted : {0, 1, 4}) {
      simulation->advance(wasted);
      simulation->restart();
      EXPECT_EQ(simulation->half_sweeps(), 0);
      EXPECT_TRUE(same(simulation->state(), expected[0]));
      simulation->advance(7);
      EXPECT_TRUE(same(simulation->state(), expected[1])) << name(transport) << ", after " << wasted;
    }
  }
}

/// The planes of one do not get into the other, and the first goes while the others stay.
TEST_P(Slabs, OfSeveralSimulationsAreTheirOwn) {
  std::vector<std::pair<Problem, std::unique_ptr<Simulation>>> all;
  for (const Transport transport : transports_here()) {
    for (const std::int64_t size : {at_least(6), at_least(6) + 2}) {
      const Problem problem = problem_of(size, 33, 4);
      all.emplace_back(problem, make(problem, {.transport = transport}));
    }
  }
  for (int round = 0; round < 3; ++round) {
    for (auto& [problem, simulation] : all) simulation->advance(3);
  }
  while (!all.empty()) {
    const auto& [problem, simulation] = all.front();
    simulation->advance(2);
    EXPECT_TRUE(same(simulation->state(), expected_after(problem, std::array{11}).front()))
        << describe(problem, simulation->launch());
    all.erase(all.begin());
  }
}

TEST_P(Slabs, RefuseTogetherAndGoOn) {
  const Problem problem = problem_of(at_least(6), 33, 4);
  const auto simulation = make(problem);
  simulation->advance(3);
  const std::string number = std::to_string(ranks().size());
  for (std::int64_t size = 4; size < 2 * ranks().size(); size += 2) {  // none, if there are one or two
    const std::string planes = std::to_string(size / 2);
    EXPECT_EQ(refusal(problem_of(size, 1, 1)), "--size " + std::to_string(size) + " has " + planes +
                                                   " planes of a colour: allowed are 1 to " + planes + " ranks, not " +
                                                   number);
  }
  EXPECT_THAT(refusal(problem_of(largest_size, 1 << 24, 4)), AllOf(HasSubstr("--size 1624"), HasSubstr("needs")));
  EXPECT_THAT(refusal(problem_of(at_least(6) + 1, 1, 1)), HasSubstr("--size is "));
  EXPECT_THAT(refusal(problem, {.threads = 513}), HasSubstr("--threads is 513"));
  EXPECT_THAT(refusal(problem, {.kernel = Kernel::resident}), HasSubstr("resident"));
  if (GetParam() == "cpu") {
    EXPECT_THAT(refusal(problem, {.transport = Transport::nccl}), HasSubstr("--transport is nccl: it takes GPUs"));
  }
  simulation->advance(2);
  const auto other = make(problem);
  other->advance(5);
  const State expected = expected_after(problem, std::array{5}).front();
  EXPECT_TRUE(same(simulation->state(), expected));
  EXPECT_TRUE(same(other->state(), expected));
}

TEST_P(Slabs, SayHowTheyTravel) {
  const std::string start = std::to_string(ranks().size()) + (ranks().size() == 1 ? " rank" : " ranks");
  for (const Transport transport : transports_here()) {
    EXPECT_EQ(make(problem_of(at_least(4), 1, 1), {.transport = transport})->remark(),
              start + ", transport " + std::string(name(transport)) + ": as asked for");
  }
  const auto chosen = make(problem_of(at_least(4), 1, 1));
  ASSERT_TRUE(chosen->launch().transport.has_value());
  EXPECT_THAT(chosen->remark(),
              StartsWith(start + ", transport " + std::string(name(*chosen->launch().transport)) + ": "));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Slabs, testing::ValuesIn(names_of(platforms())), by_name);

}  // namespace
}  // namespace psflip::spin_glass
