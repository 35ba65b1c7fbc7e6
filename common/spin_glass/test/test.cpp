// The test that every stage of the 3D model passes: on each of its platforms the same bits as stage 00, whatever the
// size, the samples, the replicas and the launch; and the physics that is known.
//
// ctest runs it a platform and a schedule at a time. By hand:
//   spin_glass_test                                            all platforms
//   PSFLIP_SCHEDULE=reversed spin_glass_test --gtest_filter='*/cpu'
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/invalid_input.hpp"
#include "gpu/platform_test.hpp"
#include "random/minstd.hpp"
#include "random/streams.hpp"
#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/test/physics.hpp"

namespace psflip::spin_glass {

void PrintTo(const State& state, std::ostream* out) {
  *out << state.samples << " samples of " << state.replicas << " replicas of L = " << state.size;
}

namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string describe(const Problem& problem) {
  return "L = " + std::to_string(problem.size) + ", " + std::to_string(problem.samples) + " samples of " +
         std::to_string(problem.replicas) + " replicas, " + std::to_string(problem.samples_per_stream) +
         " a stream, beta = " + std::to_string(problem.beta) +
         ", p = " + std::to_string(problem.ferromagnetic_fraction) + ", start " + std::string(name(problem.start));
}

std::string describe(const Launch& launch) {
  const auto number = [](std::optional<int> value) { return value ? std::to_string(*value) : "left to the stage"; };
  return "indexing " + (launch.indexing ? std::string(name(*launch.indexing)) : "left to the stage") + ", load " +
         (launch.load ? std::string(name(*launch.load)) : "left to the stage") + ", threads " + number(launch.threads) +
         ", sites a thread " + number(launch.sites_per_thread) + ", kernel " +
         (launch.kernel ? std::string(name(*launch.kernel)) : "left to the stage") + ", samples a word " +
         number(launch.samples_per_word) + ", cluster " + number(launch.cluster) + ", replicas together " +
         number(launch.replicas_together) + ", transport " +
         (launch.transport ? std::string(name(*launch.transport)) : "left to the stage");
}

/// Says where the first wrong spin is: at an edge, in one colour, in later samples or replicas only?
testing::AssertionResult same(const State& found, const State& expected) {
  if (found == expected) {
    return testing::AssertionSuccess();
  }
  if (found.size != expected.size || found.samples != expected.samples || found.replicas != expected.replicas ||
      found.spins.size() != expected.spins.size()) {
    return testing::AssertionFailure() << testing::PrintToString(found) << " with " << found.spins.size() << " spins";
  }
  std::int64_t wrong = 0, first = -1;
  for (std::int64_t i = 0; i < std::ssize(found.spins); ++i) {
    if (found.spins[i] != expected.spins[i]) {
      ++wrong;
      first = first < 0 ? i : first;
    }
  }
  const std::int64_t size = found.size, site = first % (size * size * size), lattice = first / (size * size * size);
  const std::int64_t x = site % size, y = site / size % size, z = site / (size * size);
  return testing::AssertionFailure() << wrong << " of " << found.spins.size()
                                     << " spins are wrong, the first in sample " << lattice / found.replicas
                                     << ", replica " << lattice % found.replicas << ", at the "
                                     << ((x + y + z) % 2 == 0 ? "red" : "blue") << " site x = " << x << ", y = " << y
                                     << ", z = " << z << ": " << int{found.spins[first]} << " instead of "
                                     << int{expected.spins[first]};
}

/// The same for stage 07, which has several kernels: what is left out, the stage chooses among what is possible. For
/// sizes to 10, which fit into the shared memory of any device.
bool promised_by_kernels(const Problem& problem, const Launch& launch) {
  const auto is = [](const auto& field, auto value) { return !field.has_value() || *field == value; };
  const std::int64_t size = problem.size, replicas = problem.replicas;
  for (const Kernel kernel : kernels) {
    const bool clusters = kernel != Kernel::update && kernel != Kernel::wide;
    if (!is(launch.kernel, kernel) || (clusters && replicas != 1 && replicas != 2 && replicas != 4)) {
      continue;
    }
    for (const int k : {32, 64, 128}) {
      const bool has = k == 32 || (k == 64 && kernel != Kernel::update && kernel != Kernel::small) ||
                       (k == 128 && (kernel == Kernel::wide || kernel == Kernel::resident));
      if (!has || !is(launch.samples_per_word, k) || (k > 32 && problem.samples_per_stream % k != 0)) {
        continue;
      }
      if (!clusters) {
        if (!launch.cluster && !launch.replicas_together) {
          return true;
        }
        continue;
      }
      const auto together = launch.replicas_together.value_or(replicas);
      if (together < 1 || together > replicas || replicas % together != 0 ||
          ((k > 32 || kernel == Kernel::resident) && together != replicas)) {
        continue;
      }
      for (int cluster = 1; cluster <= 16; ++cluster) {
        const std::int64_t rows = (size - 1) / cluster + 1;  // of a block, and no block without
        const std::int64_t threads = size * rows * (kernel == Kernel::small ? size / 2 : 1);
        const bool fits = threads <= (kernel == Kernel::small || (kernel == Kernel::resident && k == 32) ? 1024 : 512);
        if (is(launch.cluster, cluster) && (cluster - 1) * rows < size && fits) {
          return true;
        }
      }
    }
  }
  return false;
}

/// Transports of stage 08 that are there or not as the MPI library and the GPUs are: nothing is promised.
bool up_to_the_machine(const Launch& launch, const std::string& platform) {
  return stage() == "08_mpi" && platform == "gpu" &&
         (launch.transport == Transport::mpi || (launch.transport == Transport::nccl && built_with("nccl")));
}

/// Whether the stage says that it can do a launch, threads aside: what is asserted about it here.
bool promised(const Problem& problem, const Launch& launch, const std::string& platform) {
  const auto is = [&](Indexing indexing) { return launch.indexing == indexing; };
  const auto left_out = [](const auto& field) { return !field.has_value(); };
  if (stage() == "07_amsc") {
    return left_out(launch.indexing) && left_out(launch.load) && left_out(launch.sites_per_thread) &&
           left_out(launch.transport) && promised_by_kernels(problem, launch);
  }
  if (stage() == "08_mpi") {
    const int k = launch.samples_per_word.value_or(32);
    const bool whole_words = k == 32 || ((k == 64 || k == 128) && problem.samples_per_stream % k == 0);
    const bool transport = left_out(launch.transport) || launch.transport == Transport::staged ||
                           launch.transport == Transport::peer ||
                           (launch.transport == Transport::mpi && platform == "cpu");
    return left_out(launch.indexing) && left_out(launch.load) && left_out(launch.sites_per_thread) &&
           left_out(launch.cluster) && left_out(launch.replicas_together) &&
           (left_out(launch.kernel) || launch.kernel == Kernel::wide) && whole_words && transport;
  }
  if (!left_out(launch.kernel) || !left_out(launch.samples_per_word) || !left_out(launch.cluster) ||
      !left_out(launch.replicas_together) || !left_out(launch.transport)) {
    return false;
  }
  if (stage() == "00_cpu_reference") {
    return left_out(launch.indexing) && left_out(launch.load) && left_out(launch.sites_per_thread);
  }
  if (stage() == "04_checkerboard") {
    const bool power_of_two = std::has_single_bit(static_cast<std::uint64_t>(problem.size));
    return left_out(launch.load) && left_out(launch.sites_per_thread) &&
           (left_out(launch.indexing) || is(Indexing::standard) || (is(Indexing::bitwise) && power_of_two));
  }
  if (stage() == "05_sliced") {
    const int s = launch.sites_per_thread.value_or(1);
    const bool whole_words = (s == 1 || s == 2 || s == 4 || s == 8) && problem.size % s == 0;
    return (is(Indexing::standard_grid) && s == 1) ||
           (whole_words && (left_out(launch.indexing) || is(Indexing::sliced) || is(Indexing::sliced_grid)));
  }
  if (stage() == "06_prng") {
    const int s = launch.sites_per_thread.value_or(1);
    const bool power_of_two = std::has_single_bit(static_cast<std::uint64_t>(problem.size));
    const bool whole_words = (s == 1 || s == 2 || s == 4 || s == 8) && problem.size % s == 0;
    return left_out(launch.load) && ((whole_words && (left_out(launch.indexing) || is(Indexing::sliced))) ||
                                     (s == 1 && (is(Indexing::standard) || (is(Indexing::bitwise) && power_of_two))));
  }
  ADD_FAILURE() << "a new stage: say here which launches it has";
  return false;
}

/// Whether a spin is a bit.
bool is_multispin() { return stage() == "07_amsc" || stage() == "08_mpi"; }

/// Threads of a block at most.
int most_threads() { return stage() == "06_prng" ? 256 : is_multispin() ? 512 : 1024; }

/// Whether the stage has the generator on a platform.
bool promised(Generator generator, const std::string& platform) {
  if (std::ranges::count(curand_generators, generator) > 0) {
    return built_with("curand") && platform == "gpu";
  }
  return generator == Generator::minstd || stage() == "00_cpu_reference" || stage() == "06_prng" || is_multispin();
}

/// All launches that the interface can name, threads left to the stage.
std::vector<Launch> all_launches() {
  std::vector<std::optional<Indexing>> some_indexings{std::nullopt};
  some_indexings.insert(some_indexings.end(), indexings.begin(), indexings.end());
  std::vector<std::optional<Load>> some_loads{std::nullopt};
  some_loads.insert(some_loads.end(), loads.begin(), loads.end());
  std::vector<Launch> launches;
  for (const auto& indexing : some_indexings) {
    for (const auto& load : some_loads) {
      for (const std::optional<int> sites : std::initializer_list<std::optional<int>>{{}, 0, 1, 2, 3, 4, 8, 16}) {
        launches.push_back({.indexing = indexing, .load = load, .sites_per_thread = sites});
      }
    }
  }
  std::vector<std::optional<Kernel>> some_kernels{std::nullopt};
  some_kernels.insert(some_kernels.end(), kernels.begin(), kernels.end());
  for (const auto& kernel : some_kernels) {
    for (const std::optional<int> samples : std::initializer_list<std::optional<int>>{{}, 0, 1, 32, 33, 64, 128, 256}) {
      for (const std::optional<int> cluster : std::initializer_list<std::optional<int>>{{}, 0, 1, 2, 3, 16, 17}) {
        for (const std::optional<int> together : std::initializer_list<std::optional<int>>{{}, 0, 1, 2, 3, 4}) {
          if (kernel || samples || cluster || together) {
            launches.push_back(
                {.kernel = kernel, .samples_per_word = samples, .cluster = cluster, .replicas_together = together});
          }
        }
      }
      for (const Transport transport : transports) {
        launches.push_back({.kernel = kernel, .samples_per_word = samples, .transport = transport});
      }
    }
  }
  return launches;
}

/// Those that can be done, with every choice made.
std::vector<Launch> with_every_choice(std::vector<Launch> launches) {
  // Leaving a choice to the stage is one of the others, if there is a choice at all.
  const auto chosen = [&](auto field) {
    const bool choice =
        std::ranges::any_of(launches, [&](const Launch& launch) { return (launch.*field).has_value(); });
    std::erase_if(launches, [&](const Launch& launch) { return choice && !(launch.*field).has_value(); });
  };
  chosen(&Launch::indexing);
  chosen(&Launch::load);
  chosen(&Launch::sites_per_thread);
  chosen(&Launch::kernel);
  chosen(&Launch::samples_per_word);
  chosen(&Launch::transport);
  // Nothing else where a kernel has no clusters.
  std::erase_if(launches, [&](const Launch& launch) {
    const bool clusters = launch.kernel && launch.kernel != Kernel::update && launch.kernel != Kernel::wide;
    return clusters && (!launch.cluster || !launch.replicas_together);
  });
  return launches;
}

/// Ranks of MPI, as Open MPI's mpirun says, among which stage 08 divides the lattice.
int ranks() {
  const char* const number = std::getenv("OMPI_COMM_WORLD_SIZE");
  return number != nullptr ? std::stoi(number) : 1;
}

/// Of this size, or of the next that has a plane for every rank: there are L / 2.
Problem small_problem(std::int64_t size) {
  size = std::max<std::int64_t>(size, 2 * ranks());
  return {.size = size, .beta = 0.7, .samples = 3, .replicas = 2, .samples_per_stream = 2, .seed = 17};
}

class Engine : public PlatformTest<platforms> {
 protected:
  std::unique_ptr<Simulation> make(const Problem& problem, const Launch& launch) const {
    return platform_->make_simulation(problem, launch);
  }

  /// The one line in which the engine refuses a problem or a launch; empty if it does not.
  std::string refusal(const Problem& problem, const Launch& launch) const {
    try {
      make(problem, launch);
    } catch (const InvalidInput& error) {
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      return error.what();
    }
    return "";
  }

  bool can_do(const Problem& problem, const Launch& launch) const {
    return up_to_the_machine(launch, GetParam()) ? refusal(problem, launch).empty()
                                                 : promised(problem, launch, GetParam());
  }

  /// The launches that the stage has for a problem.
  std::vector<Launch> launches_for(const Problem& problem) const {
    std::vector<Launch> launches;
    std::ranges::copy_if(all_launches(), std::back_inserter(launches),
                         [&](const Launch& launch) { return can_do(problem, launch); });
    return with_every_choice(launches);
  }

  /// One for each indexing, or kernel, or transport, that the stage has for a problem.
  std::vector<Launch> indexings_for(const Problem& problem) const {
    std::vector<Launch> launches;
    for (const Launch& launch : all_launches()) {
      const int named = launch.indexing.has_value() + launch.kernel.has_value() + launch.transport.has_value();
      const bool rest = launch.load || launch.sites_per_thread || launch.samples_per_word || launch.cluster ||
                        launch.replicas_together;
      if (named == 1 && !rest && can_do(problem, launch)) {
        launches.push_back(launch);
      }
    }
    return launches;
  }
};

/// Stage 00 against itself would prove nothing; spin_glass_test.cpp there says what it is compared with.
class EngineAgainstReference : public Engine {
 protected:
  /// Compares full states after so many half-sweeps more, again and again.
  void expect_reference_bits(const Problem& problem, const std::vector<Launch>& launches,
                             const std::vector<std::int64_t>& half_sweeps) const {
    SCOPED_TRACE(describe(problem));
    ASSERT_FALSE(launches.empty());
    std::vector<State> expected;
    const auto reference = reference::make_simulation(problem, {});
    for (const std::int64_t count : half_sweeps) {
      reference->advance(count);
      expected.push_back(reference->state());
    }
    for (const Launch& launch : launches) {
      SCOPED_TRACE(describe(launch));
      const auto simulation = make(problem, launch);
      std::int64_t done = 0;
      for (std::size_t i = 0; i < half_sweeps.size(); ++i) {
        simulation->advance(half_sweeps[i]);
        done += half_sweeps[i];
        ASSERT_TRUE(same(simulation->state(), expected[i])) << "after " << done << " half-sweeps";
      }
    }
  }

  const std::vector<std::int64_t> few_ = {0, 1, 1, 2, 2};  ///< to the start, half a sweep, 1, 2 and 3 sweeps
};

TEST_P(Engine, OffersExactlyWhatItsStagePromises) {
  for (const std::int64_t size : {4, 6, 8, 10}) {
    Problem problem = small_problem(size);
    problem.samples = 1;
    for (const Launch& launch : all_launches()) {
      if (up_to_the_machine(launch, GetParam())) {
        continue;
      }
      SCOPED_TRACE(describe(problem) + "; " + describe(launch));
      const std::string message = refusal(problem, launch);
      EXPECT_EQ(message.empty(), promised(problem, launch, GetParam())) << message;
    }
  }
}

TEST_P(Engine, ReportsTheLaunchThatItUses) {
  const Problem problem = small_problem(8);
  std::vector<Launch> wishes = launches_for(problem);
  wishes.push_back({});
  for (const Launch& wish : wishes) {
    SCOPED_TRACE(describe(wish));
    const Launch used = make(problem, wish)->launch();
    EXPECT_EQ(used.device, wish.device);
    EXPECT_TRUE(!wish.indexing || used.indexing == wish.indexing);
    EXPECT_TRUE(!wish.load || used.load == wish.load);
    EXPECT_TRUE(!wish.sites_per_thread || used.sites_per_thread == wish.sites_per_thread);
    EXPECT_TRUE(!wish.kernel || used.kernel == wish.kernel);
    EXPECT_TRUE(!wish.samples_per_word || used.samples_per_word == wish.samples_per_word);
    EXPECT_TRUE(!wish.cluster || used.cluster == wish.cluster);
    EXPECT_TRUE(!wish.replicas_together || used.replicas_together == wish.replicas_together);
    EXPECT_TRUE(!wish.transport || used.transport == wish.transport);
    EXPECT_EQ(refusal(problem, used), "") << "cannot do again what it did: " << describe(used);
  }
}

TEST_P(Engine, StartsAgainWithoutATraceOfTheRunBefore) {
  const Problem problem = small_problem(6);
  const auto simulation = make(problem, {});
  const State start = simulation->state();
  simulation->advance(7);  // an odd number: blue sites would be next
  const State end = simulation->state();
  EXPECT_FALSE(same(end, start));
  for (const std::int64_t half_sweeps : {0, 1, 2, 7}) {
    simulation->restart();
    EXPECT_TRUE(same(simulation->state(), start));
    simulation->advance(half_sweeps);
    simulation->advance(7 - half_sweeps);
    EXPECT_TRUE(same(simulation->state(), end)) << half_sweeps << " half-sweeps first";
  }
}

TEST_P(Engine, IsNotChangedByBeingLookedAt) {
  const Problem problem = small_problem(6);
  const auto watched = make(problem, {}), other = make(problem, {});
  for (int half_sweep = 0; half_sweep < 5; ++half_sweep) {
    watched->advance(1);
    const State now = watched->state();
    EXPECT_TRUE(same(watched->state(), now));
    watched->advance(0);
    EXPECT_TRUE(same(watched->state(), now));
  }
  other->advance(5);
  EXPECT_TRUE(same(watched->state(), other->state()));
}

TEST_P(Engine, DoesNotShareAnythingWithAnotherEngine) {
  const Problem problem = small_problem(4);
  Problem different = problem;
  different.seed = 18;
  const auto one = make(problem, {});
  one->advance(3);
  const State expected = one->state();
  one->restart();
  const auto two = make(different, {});
  for (int half_sweep = 0; half_sweep < 3; ++half_sweep) {
    one->advance(1);
    two->advance(1);
  }
  EXPECT_TRUE(same(one->state(), expected));
  EXPECT_FALSE(same(two->state(), expected));
}

/// All words of the streams, one after the other.
std::vector<std::uint32_t> streams(const Simulation& simulation) {
  std::vector<std::uint32_t> words;
  simulation.save_streams(
      [&](std::span<const std::uint32_t> word) { words.insert(words.end(), word.begin(), word.end()); });
  return words;
}

void resume(Simulation& simulation, std::int64_t half_sweeps, const State& state,
            const std::vector<std::uint32_t>& streams) {
  auto next = streams.begin();
  simulation.resume(half_sweeps, state, [&](std::span<std::uint32_t> word) {
    ASSERT_LE(std::ssize(word), streams.end() - next);
    std::copy_n(next, word.size(), word.begin());
    next += std::ssize(word);
  });
  EXPECT_EQ(next, streams.end());
}

/// Whatever the launch: the streams of an engine are those of stage 00, and a new one goes on from them as if it had
/// been there; after an odd number of half-sweeps too, and in the middle of any wheel.
TEST_P(Engine, GoesOnWhereAnotherWas) {
  for (const Generator generator : generators) {
    if (!promised(generator, GetParam())) {
      continue;
    }
    for (const std::int64_t half_sweeps : {0, 1, 2, 31, 250}) {
      if (generator == Generator::mt19937 && half_sweeps < 2) {
        continue;  // 624 words a stream take long; other generators have the same beginning
      }
      Problem problem = small_problem(half_sweeps == 2 ? 8 : 6);
      problem.samples = 5;
      problem.replicas = half_sweeps == 250 ? 7 : 3;  // MT19937's wheel is left behind
      problem.generator = generator;
      const auto reference = reference::make_simulation(problem, {});
      reference->advance(half_sweeps);
      const State before = reference->state();
      const std::vector<std::uint32_t> expected = streams(*reference);
      reference->advance(5);
      const State after = reference->state();
      const std::vector<std::uint32_t> expected_after = streams(*reference);
      EXPECT_EQ(std::ssize(expected), reference->stream_words() * groups(problem) * sites(problem));
      // Every launch where the wheels are in the middle, and at a size that has all of them.
      const bool every = half_sweeps == 31 || half_sweeps == 2;
      for (const Launch& launch : every ? launches_for(problem) : indexings_for(problem)) {
        SCOPED_TRACE(std::string(name(generator)) + ", " + std::to_string(half_sweeps) + " half-sweeps; " +
                     describe(problem) + "; " + describe(launch));
        const auto one = make(problem, launch), two = make(problem, launch);
        ASSERT_TRUE(one->can_resume());
        EXPECT_EQ(one->stream_words(), reference->stream_words());
        one->advance(half_sweeps);
        EXPECT_EQ(one->half_sweeps(), half_sweeps);
        EXPECT_TRUE(streams(*one) == expected);
        two->advance(3);  // leaves something to be overwritten
        resume(*two, half_sweeps, before, expected);
        EXPECT_EQ(two->half_sweeps(), half_sweeps);
        EXPECT_TRUE(same(two->state(), before));
        EXPECT_TRUE(streams(*two) == expected);
        one->advance(5);
        two->advance(2);
        two->advance(3);
        EXPECT_TRUE(same(one->state(), after)) << "saving changed it";
        EXPECT_TRUE(same(two->state(), after));
        EXPECT_TRUE(streams(*two) == expected_after);
      }
    }
  }
}

TEST_P(Engine, StartsAgainAfterItWasResumed) {
  const Problem problem = small_problem(6);
  const auto simulation = make(problem, {});
  const State start = simulation->state();
  const std::vector<std::uint32_t> first = streams(*simulation);
  simulation->advance(3);
  const State end = simulation->state();
  resume(*simulation, 3, end, streams(*simulation));
  simulation->restart();
  EXPECT_EQ(simulation->half_sweeps(), 0);
  EXPECT_TRUE(same(simulation->state(), start));
  EXPECT_TRUE(streams(*simulation) == first);
  simulation->advance(3);
  EXPECT_TRUE(same(simulation->state(), end));
}

/// More lattices and more streams than travel at once: 32 MiB on a GPU, 1 MiB on host threads (canonical.cuh).
TEST_P(Engine, GoesOnWithVeryManySamples) {
  Problem problem = small_problem(4);
  problem.samples = GetParam() == "gpu" ? 140'000 : 10'000;
  problem.replicas = 4;
  problem.samples_per_stream = 1;
  const auto reference = reference::make_simulation(problem, {});
  reference->advance(1);
  const auto simulation = make(problem, {});
  resume(*simulation, 1, reference->state(), streams(*reference));
  EXPECT_TRUE(streams(*simulation) == streams(*reference));
  State taken = reference->state();
  taken.spins.clear();
  simulation->take_state([&](std::span<const Spin> spins) {
    EXPECT_EQ(std::ssize(spins) % sites(problem), 0);
    taken.spins.insert(taken.spins.end(), spins.begin(), spins.end());
  });
  EXPECT_TRUE(same(taken, reference->state()));
  simulation->advance(2);
  reference->advance(2);
  EXPECT_TRUE(same(simulation->state(), reference->state()));
}

TEST_P(Engine, RefusesToGoOnFromAnotherProblem) {
  const Problem problem = small_problem(6);
  const auto simulation = make(problem, {});
  const State start = simulation->state();
  const auto refused = [&](std::int64_t half_sweeps, const State& state) {
    EXPECT_THROW(simulation->resume(half_sweeps, state, [](auto) { ADD_FAILURE() << "took streams"; }), InvalidInput);
    EXPECT_TRUE(same(simulation->state(), start));
  };
  refused(-1, start);
  State state = start;
  state.spins.pop_back();
  refused(0, state);
  refused(0, make(small_problem(problem.size + 2), {})->state());
  Problem other = problem;
  other.samples = 2;
  other.replicas = 3;  // as many spins
  refused(0, make(other, {})->state());
}

/// An engine that can measure where its spins are finds what the host finds in the spins of stage 00.
TEST_P(Engine, ObservesAsTheHostDoes) {
  for (const std::int64_t size : {4, 6, 8, 10}) {
    for (const auto& [samples, replicas] : {std::pair{1, 1}, {3, 2}, {33, 4}, {65, 5}}) {
      if (samples == 65 && size > 6) {
        continue;  // three words and ten pairs of replicas are counted as at other sizes, only longer
      }
      Problem problem = small_problem(size);
      problem.samples = samples;
      problem.replicas = replicas;
      std::vector<State> states;
      std::vector<std::vector<SampleObservables>> expected;  // of each state, without correlations and with them
      const auto reference = reference::make_simulation(problem, {});
      for (const std::int64_t half_sweeps : {0, 3}) {
        reference->advance(half_sweeps);
        states.push_back(reference->state());
        for (const bool correlations : {false, true}) {
          expected.emplace_back();
          for (std::int64_t sample = 0; sample < samples; ++sample) {
            expected.back().push_back(observe(states.back(), sample, sample_couplings(problem, sample), correlations));
          }
        }
      }
      std::vector<Launch> launches = samples == 33 && size <= 6 ? launches_for(problem) : indexings_for(problem);
      // What is measured are arrays, which are the same for clusters of any size, and however halos travel.
      std::erase_if(launches, [](const Launch& launch) {
        return launch.cluster.value_or(1) != 1 || launch.transport.value_or(Transport::staged) != Transport::staged;
      });
      for (const Launch& launch : launches) {
        SCOPED_TRACE(describe(problem) + "; " + describe(launch));
        const auto simulation = make(problem, launch);
        for (std::size_t i = 0; i < states.size(); ++i) {
          simulation->advance(i == 0 ? 0 : 3);
          for (const bool correlations : {false, true}) {
            if (const auto found = simulation->observe(correlations)) {
              EXPECT_TRUE(*found == expected[2 * i + correlations])
                  << (correlations ? "with" : "no") << " correlations";
            }
          }
          EXPECT_TRUE(same(simulation->state(), states[i]));
        }
      }
    }
  }
}

TEST_P(Engine, MeasuresTimeAndCountsBytes) {
  Problem problem = small_problem(16);
  const Launch launch = is_multispin() ? Launch{.kernel = Kernel::wide} : Launch{};  // others stay on the chip
  const auto with_two = make(problem, launch);
  EXPECT_GT(with_two->advance(4), 0);
  problem.replicas = 4;
  const auto with_four = make(problem, launch);
  const double spin = is_multispin() ? 1.0 / 8 : 1;
  EXPECT_GT(with_four->bytes_per_flip(), 3 * spin);                    // a spin in and out, and one of its neighbours
  EXPECT_LT(with_four->bytes_per_flip(), with_two->bytes_per_flip());  // replicas share couplings and stream
}

TEST_P(Engine, RefusesImpossibleProblems) {
  const auto expect_refused = [&](auto change, const char* part) {
    Problem problem = small_problem(6);
    change(problem);
    EXPECT_THAT(refusal(problem, {}), HasSubstr(part));
  };
  expect_refused([](Problem& problem) { problem.size = 5; }, "--size is 5");
  expect_refused([](Problem& problem) { problem.size = 2; }, "--size is 2");
  expect_refused([](Problem& problem) { problem.size = -6; }, "--size is -6");
  expect_refused([](Problem& problem) { problem.size = 1626; }, "--size is 1626");
  expect_refused([](Problem& problem) { problem.beta = -1; }, "--beta is -1");
  expect_refused([](Problem& problem) { problem.beta = std::numeric_limits<double>::quiet_NaN(); }, "--beta is nan");
  expect_refused([](Problem& problem) { problem.beta = std::numeric_limits<double>::infinity(); }, "--beta is inf");
  expect_refused([](Problem& problem) { problem.samples = 0; }, "--samples is 0");
  expect_refused([](Problem& problem) { problem.replicas = 0; }, "--replicas is 0");
  expect_refused([](Problem& problem) { problem.samples_per_stream = 0; }, "--samples-per-stream is 0");
  expect_refused([](Problem& problem) { problem.ferromagnetic_fraction = 1.5; }, "--ferromagnetic-fraction is 1.5");
  using Samples = std::vector<std::vector<Coupling>>;
  const std::int64_t bonds = 3 * sites(small_problem(6));
  const auto expect_couplings_refused = [&](std::size_t samples, std::int64_t number, Coupling coupling,
                                            const std::string& part) {
    const auto given = std::make_shared<Samples>(samples, std::vector<Coupling>(number, coupling));
    expect_refused([&](Problem& problem) { problem.given_couplings = given; }, part.c_str());
  };
  expect_couplings_refused(2, bonds, 1, "2 samples");
  expect_couplings_refused(3, bonds - 1, 1, std::to_string(bonds - 1) + " couplings");
  expect_couplings_refused(3, bonds, 2, "neither 1 nor -1");
}

TEST_P(Engine, RefusesWhatDoesNotFitAndSaysHowMuchThereIs) {
  Problem problem = small_problem(largest_size);
  problem.samples = 1 << 24;
  EXPECT_THAT(refusal(problem, {}), AllOf(HasSubstr("--size 1624"), HasSubstr("16777216 samples"), HasSubstr("needs"),
                                          HasSubstr(" of "), AnyOf(HasSubstr("free"), HasSubstr("the machine has"))));
}

TEST_P(Engine, ObeysPhysics) {
  const Effort effort = GetParam() == "gpu" ? Effort::thorough : Effort::quick;
  for (const PhysicsCheck& check : physics_checks()) {
    for (const Measurement& measurement :
         check.run([&](const Problem& problem) { return make(problem, {}); }, effort)) {
      EXPECT_TRUE(measurement.agrees()) << check.name << ": " << text(measurement);
    }
  }
}

TEST_P(Engine, RefusesOtherGenerators) {
  Problem problem = small_problem(4);
  for (const Generator generator : all_generators) {
    problem.generator = generator;
    if (promised(generator, GetParam())) {
      EXPECT_EQ(refusal(problem, {}), "");
    } else {
      EXPECT_THAT(refusal(problem, {}),
                  AllOf(HasSubstr("--generator is " + std::string(name(generator)) + ":"), HasSubstr(" minstd")));
    }
  }
}

/// cuRAND's generators, which stage 00 does not have: what can be told without it.
class EngineWithCurand : public Engine {};

TEST_P(EngineWithCurand, ObeysPhysics) {
  for (const Generator generator : curand_generators) {
    const auto make_engine = [&](Problem problem) {
      problem.generator = generator;
      return make(problem, {});
    };
    for (const PhysicsCheck& check : physics_checks()) {
      for (const Measurement& measurement : check.run(make_engine, Effort::thorough)) {
        EXPECT_TRUE(measurement.agrees()) << name(generator) << ", " << check.name << ": " << text(measurement);
      }
    }
  }
}

/// A site's stream goes with it, as everywhere.
TEST_P(EngineWithCurand, HasTheSameBitsInEveryLaunch) {
  for (const Generator generator : {Generator::curand_xorwow, Generator::curand_philox}) {
    for (const std::int64_t size : {6, 8}) {
      Problem problem = small_problem(size);
      problem.generator = generator;
      problem.replicas = 5;  // no divisor of Philox's four numbers at a time
      const auto expected = make(problem, {.indexing = Indexing::standard});
      expected->advance(31);
      for (Launch launch : launches_for(problem)) {
        for (const int threads : {1, 33, 256}) {
          launch.threads = threads;
          const auto simulation = make(problem, launch);
          simulation->advance(1);
          simulation->advance(30);
          EXPECT_TRUE(same(simulation->state(), expected->state())) << name(generator) << ", " << describe(launch);
        }
      }
    }
  }
}

/// Whatever the launch, and with fewer elements than threads, or more blocks than MTGP32 has sets of parameters.
TEST_P(EngineWithCurand, IsDeterminedByTheSeed) {
  for (const Generator generator : curand_generators) {
    for (const std::int64_t samples : {1, 500}) {
      Problem problem = small_problem(8);
      problem.generator = generator;
      problem.samples = samples;
      Problem different = problem;
      different.seed = 18;
      for (const Launch& launch : launches_for(problem)) {
        SCOPED_TRACE(std::string(name(generator)) + ", " + describe(problem) + "; " + describe(launch));
        const auto one = make(problem, launch), two = make(problem, launch), other = make(different, launch);
        const State start = one->state();
        one->advance(9);
        const State end = one->state();
        EXPECT_FALSE(same(end, start));
        two->advance(4);
        two->advance(5);
        EXPECT_TRUE(same(two->state(), end));
        one->restart();
        EXPECT_TRUE(same(one->state(), start));
        one->advance(9);
        EXPECT_TRUE(same(one->state(), end));
        other->advance(9);
        EXPECT_FALSE(same(other->state(), end));
      }
    }
  }
}

TEST_P(EngineWithCurand, CannotGoOnElsewhere) {
  for (const Generator generator : curand_generators) {
    Problem problem = small_problem(6);
    problem.generator = generator;
    const auto simulation = make(problem, {});
    EXPECT_FALSE(simulation->can_resume());
    EXPECT_EQ(simulation->stream_words(), 0);
    EXPECT_THROW(simulation->resume(0, simulation->state(), [](auto) {}), InvalidInput);
  }
}

/// At infinite temperature the draws decide nothing: every element has its turn once, those of the last blocks too.
TEST_P(EngineWithCurand, GivesEverySpinItsTurn) {
  Problem problem = small_problem(6);  // 108 sites of a colour
  problem.generator = Generator::curand_mtgp32;
  problem.beta = 0;
  for (const std::int64_t samples :
       {1, 5, 2500}) {  // fewer than a block, a tail, and more than all blocks have threads
    problem.samples = samples;
    for (const Launch& launch : launches_for(problem)) {
      const auto simulation = make(problem, launch);
      State expected = simulation->state();
      simulation->advance(2);
      for (Spin& spin : expected.spins) {
        spin = static_cast<Spin>(-spin);
      }
      EXPECT_TRUE(same(simulation->state(), expected)) << describe(problem) << "; " << describe(launch);
    }
  }
}

/// One block of MTGP32 does all: a sample of 32 sites of a colour leaves 224 threads without an element, eight samples
/// none. If the 224 did not draw, the others would sooner or later make their numbers of old ones.
TEST_P(EngineWithCurand, DrawsWithAllThreadsOfABlock) {
  Problem problem = small_problem(4);
  problem.generator = Generator::curand_mtgp32;
  problem.samples = 8;
  const Launch launch{.indexing = Indexing::standard};
  const auto eight = make(problem, launch);
  problem.samples = 1;
  const auto one = make(problem, launch);
  eight->advance(100);
  one->advance(100);
  State first_of_eight = eight->state();
  first_of_eight.samples = 1;
  first_of_eight.spins.resize(static_cast<std::size_t>(problem.replicas * sites(problem)));
  EXPECT_TRUE(same(one->state(), first_of_eight));
}

TEST_P(EngineWithCurand, TakesBlocksOf256ThreadsForMtgp32) {
  Problem problem = small_problem(6);
  problem.generator = Generator::curand_mtgp32;
  EXPECT_EQ(make(problem, {})->launch().threads, 256);
  EXPECT_EQ(refusal(problem, {.threads = 256}), "");
  EXPECT_THAT(refusal(problem, {.threads = 128}), HasSubstr("--threads is 128: --generator curand-mtgp32 takes 256"));
}

TEST_P(EngineAgainstReference, AgreesForEveryLaunchAndSize) {
  for (const std::int64_t size : {4, 6, 8, 10, 12, 14, 16, 18, 20, 34}) {
    const Problem problem = small_problem(size);
    std::vector<Launch> launches = launches_for(problem);
    if (size > 10) {  // what of a larger system fits into shared memory depends on the device
      std::erase_if(launches,
                    [&](const Launch& launch) { return launch.cluster && !refusal(problem, launch).empty(); });
    }
    expect_reference_bits(problem, launches, few_);
  }
}

TEST_P(EngineAgainstReference, AgreesForEveryLaunchAndNumberOfThreads) {
  for (const std::int64_t size : {6, 8}) {
    const Problem problem = small_problem(size);
    std::vector<Launch> launches;
    for (Launch launch : launches_for(problem)) {
      if (launch.cluster) {
        continue;  // its threads are as many as a strip has columns, which the clusters vary
      }
      for (const int threads : {1, 7, 33, 100, 256, most_threads()}) {
        launch.threads = threads;
        launches.push_back(launch);
      }
    }
    expect_reference_bits(problem, launches, {3, 2});
    EXPECT_EQ(make(problem, launches.front())->launch().threads, 1);
  }
}

TEST_P(EngineAgainstReference, AgreesForAnyNumberOfSamplesAndReplicas) {
  for (const std::int64_t samples : {1, 31, 32, 33, 65}) {
    for (const std::int64_t replicas : {1, 2, 4, 5}) {
      Problem problem = small_problem(4);
      problem.samples = samples;
      problem.replicas = replicas;
      for (const std::int64_t samples_per_stream : {32, 1, 7, 64}) {
        problem.samples_per_stream = samples_per_stream;
        if (samples_per_stream == 32 || replicas == 2) {
          expect_reference_bits(problem, indexings_for(problem), few_);
        }
      }
      problem.samples_per_stream = 128;  // which words of 32, 64 and 128 samples divide
      if (samples >= 33) {
        expect_reference_bits(problem, launches_for(problem), few_);
      }
    }
  }
}

TEST_P(EngineAgainstReference, AgreesForAllParameters) {
  for (const double beta : {0.0, 1e-9, 0.25, 1.0, 100.0}) {
    for (const double ferromagnetic_fraction : {0.0, 0.5, 0.79, 1.0}) {
      for (const Start start : {Start::random, Start::ordered}) {
        Problem problem = small_problem(6);
        problem.beta = beta;
        problem.ferromagnetic_fraction = ferromagnetic_fraction;
        problem.start = start;
        problem.seed = std::bit_cast<std::uint64_t>(beta) + 1;  // 64 bits, not 32
        expect_reference_bits(problem, indexings_for(problem), few_);
      }
    }
  }
}

TEST_P(EngineAgainstReference, AgreesForGivenCouplings) {
  for (const std::int64_t size : {4, 6, 8}) {
    Problem problem = small_problem(size);
    // No two samples alike, nor any two directions: x, y and z bonds are negative at every 2nd, 3rd and 5th site.
    std::vector<std::vector<Coupling>> samples(3, std::vector<Coupling>(3 * sites(problem), 1));
    for (std::size_t sample = 0; sample < samples.size(); ++sample) {
      for (std::size_t bond = 0; bond < samples[sample].size(); ++bond) {
        const std::size_t period = std::array{2, 3, 5}[bond % 3];
        samples[sample][bond] = (bond / 3 + sample) % period == 0 ? -1 : 1;
      }
    }
    problem.given_couplings = std::make_shared<const std::vector<std::vector<Coupling>>>(samples);
    expect_reference_bits(problem, launches_for(problem), few_);
  }
}

TEST_P(EngineAgainstReference, AgreesAfterManySweeps) {
  Problem problem = small_problem(10);
  problem.replicas = 5;
  expect_reference_bits(problem, indexings_for(problem), {99, 101});
}

/// More than a dimension of the grid counts, 65535, and with more spins than are copied to the host at once.
TEST_P(EngineAgainstReference, AgreesForVeryManySamples) {
  Problem problem = small_problem(4);
  problem.samples = 65'540;
  problem.replicas = GetParam() == "gpu" ? 9 : 3;
  problem.samples_per_stream = 1000;
  std::vector<Launch> launches = indexings_for(problem);
  for (Launch& launch : launches) {
    launch.threads = 32;
  }
  expect_reference_bits(problem, launches, {2});
}

TEST_P(EngineAgainstReference, AgreesForEveryGenerator) {
  for (const Generator generator : generators) {
    if (!promised(generator, GetParam())) {
      continue;
    }
    for (const std::int64_t size : {4, 6, 8}) {
      Problem problem = small_problem(size);
      problem.generator = generator;
      expect_reference_bits(problem, launches_for(problem), few_);
      problem.replicas = 5;  // no divisor of Philox's four numbers at a time, nor of a wheel
      expect_reference_bits(problem, launches_for(problem), {1, 2, 30});
    }
    // Once around the largest wheel and on: 7 * 100 numbers.
    Problem problem = small_problem(4);
    problem.generator = generator;
    problem.replicas = 7;
    expect_reference_bits(problem, indexings_for(problem), {200});
  }
}

/// A draw that equals its threshold does not flip the spin. That never happens by chance; so the temperature is the one
/// at which the threshold is the first draw of site 0, which has 0, 1 or 2 unsatisfied bonds.
TEST_P(EngineAgainstReference, AgreesWhereADrawEqualsItsThreshold) {
  for (int unsatisfied = 0; unsatisfied <= 2; ++unsatisfied) {
    Problem problem = small_problem(4);
    problem.samples = 1;
    problem.start = Start::ordered;
    std::vector<Coupling> couplings(static_cast<std::size_t>(3 * sites(problem)), 1);
    std::fill_n(couplings.begin(), unsatisfied, -1);  // bonds of site 0
    problem.given_couplings = std::make_shared<const std::vector<std::vector<Coupling>>>(1, couplings);
    const std::uint32_t draw = Minstd::seeded(stream_seed(problem.seed, 0, 0)).draw();
    const double probability = (draw + 0.5) / (Minstd::modulus - 1);
    problem.beta = -std::log(probability) / (12 - 4 * unsatisfied);
    ASSERT_EQ(thresholds(problem.beta, Generator::minstd).of[unsatisfied], draw);
    expect_reference_bits(problem, indexings_for(problem), few_);
  }
}

TEST_P(EngineAgainstReference, RefusesImpossibleLaunchesByValue) {
  for (const int threads : {-1, 0, most_threads() + 1, 65536}) {
    EXPECT_THAT(
        refusal(small_problem(4), {.threads = threads}),
        HasSubstr("--threads is " + std::to_string(threads) + ": allowed are 1 to " + std::to_string(most_threads())));
  }
  if (stage() == "04_checkerboard") {
    EXPECT_THAT(refusal(small_problem(6), {.indexing = Indexing::bitwise}), HasSubstr("a power of two for --size"));
  }
  if (stage() == "05_sliced") {
    EXPECT_THAT(refusal(small_problem(6), {.sites_per_thread = 4}), HasSubstr("--sites-per-thread is 4"));
    EXPECT_THAT(refusal(small_problem(1026), {.indexing = Indexing::sliced_grid, .sites_per_thread = 1}),
                HasSubstr("at most 1024 threads"));
  }
}

std::vector<std::string> platform_names(bool with_reference) {
  std::vector<std::string> names = names_of(platforms());
  if (!with_reference) std::erase(names, "reference");
  return names;
}

std::vector<std::string> platforms_with_curand() {
  std::vector<std::string> names = platform_names(false);
  std::erase_if(names, [](const std::string& platform) { return !promised(Generator::curand_xorwow, platform); });
  return names;
}

INSTANTIATE_TEST_SUITE_P(SpinGlass, Engine, testing::ValuesIn(platform_names(true)), by_name);
INSTANTIATE_TEST_SUITE_P(SpinGlass, EngineWithCurand, testing::ValuesIn(platforms_with_curand()), by_name);
INSTANTIATE_TEST_SUITE_P(SpinGlass, EngineAgainstReference, testing::ValuesIn(platform_names(false)), by_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EngineAgainstReference);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EngineWithCurand);

}  // namespace
}  // namespace psflip::spin_glass
