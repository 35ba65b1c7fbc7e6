// The test that every stage of the 3D model passes: on each of its platforms the same bits as the reference, whatever
// the size, the samples, the replicas and the launch; and the physics that is known.
//
// ctest runs it a platform and a schedule at a time. By hand:
//   spin_glass_test                                            all platforms
//   PSFLIP_SCHEDULE=reversed spin_glass_test --gtest_filter='*/cpu'
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "random/minstd.hpp"
#include "random/streams.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/test/engine_test.hpp"
#include "spin_glass/test/physics.hpp"

namespace psflip::spin_glass {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

/// The reference against itself would prove nothing; the test of its stage says what it is compared with.
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
        ASSERT_TRUE(same(simulation->state(), expected[i])) << "after " << done << " half-sweeps\n"
                                                            << mistake(problem, launch, done);
      }
    }
  }

  /// What goes wrong first in so many half-sweeps, each looked at.
  std::string mistake(const Problem& problem, const Launch& launch, std::int64_t half_sweeps) const {
    if (ranks() > 1) return {};  // all would have to take part
    const auto reference = reference::make_simulation(problem, {});
    const auto simulation = make(problem, launch);
    for (std::int64_t number = 1; number <= half_sweeps; ++number) {
      const State before = reference->state();
      reference->advance(1);
      simulation->advance(1);
      const State found = simulation->state(), expected = reference->state();
      if (!(found == expected)) return first_mistake(problem, number, before, found, expected);
    }
    return "not so if every half-sweep is looked at";
  }

  const std::vector<std::int64_t> few_ = {0, 1, 1, 2, 2};  ///< to the start, half a sweep, 1, 2 and 3 sweeps
};

/// Of each site that an update looks at: what is told, should it alone be wrong, gives the reference's answer.
TEST_P(EngineAgainstReference, WouldBeToldOfItsFirstMistakeByTheRule) {
  Problem problem = small_problem(4);
  problem.samples_per_stream = 1;
  const auto reference = reference::make_simulation(problem, {});
  for (std::int64_t half_sweep = 1; half_sweep <= 3; ++half_sweep) {
    const State before = reference->state();
    reference->advance(1);
    const State expected = reference->state();
    const std::int64_t size = problem.size;
    for (std::size_t i = 0; i < expected.spins.size(); i += 5) {
      const auto site = static_cast<std::int64_t>(i) % sites(problem);
      if ((site + site / size + site / (size * size) + half_sweep) % 2 == 0) continue;
      State found = expected;
      found.spins[i] = static_cast<Spin>(-found.spins[i]);
      const std::string told = first_mistake(problem, half_sweep, before, found, expected);
      const auto number = [&](const std::string& words) {
        const auto at = told.find(words);
        return at == std::string::npos ? 0 : std::stoll(told.substr(told.find_first_of("-0123456789", at)));
      };
      const auto draw = told.find(" is ", told.find("draw number"));
      ASSERT_NE(draw, std::string::npos) << told;
      const bool flips = number("a flip costs") <= 0 || std::stoll(told.substr(draw + 4)) < number("threshold");
      ASSERT_EQ(flips, expected.spins[i] != before.spins[i]) << told;
    }
  }
}

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
      EXPECT_EQ(message.empty(), promises(problem, launch, GetParam())) << message;
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
    for (const LaunchField& field : launch_fields()) {
      EXPECT_TRUE(!field.get(wish) || field.get(used) == field.get(wish)) << field.name;
    }
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
  dynamic_cast<const Resumable&>(simulation).save_streams([&](std::span<const std::uint32_t> word) {
    words.insert(words.end(), word.begin(), word.end());
  });
  return words;
}

void resume(Simulation& simulation, std::int64_t half_sweeps, const State& state,
            const std::vector<std::uint32_t>& streams) {
  auto next = streams.begin();
  dynamic_cast<Resumable&>(simulation).resume(half_sweeps, state, [&](std::span<std::uint32_t> word) {
    ASSERT_LE(std::ssize(word), streams.end() - next);
    std::copy_n(next, word.size(), word.begin());
    next += std::ssize(word);
  });
  EXPECT_EQ(next, streams.end());
}

/// Whatever the launch: the streams of an engine are those of the reference, and a new one goes on from them as if it
/// had been there; after an odd number of half-sweeps too, and in the middle of any wheel.
TEST_P(Engine, GoesOnWhereAnotherWas) {
  for (const Generator generator : generators) {
    if (!promises(generator, GetParam())) {
      continue;
    }
    for (const std::int64_t half_sweeps : {0, 1, 2, 31, 250}) {
      if (generator == Generator::mt19937 && half_sweeps < 2) {
        continue;  // 624 words a stream take long; other generators have the same beginning
      }
      Problem problem = with_generator(small_problem(half_sweeps == 2 ? 8 : 6), generator);
      problem.samples = 5;
      problem.replicas = half_sweeps == 250 ? 7 : 3;  // MT19937's wheel is left behind
      const auto reference = reference::make_simulation(problem, {});
      reference->advance(half_sweeps);
      const State before = reference->state();
      const std::vector<std::uint32_t> expected = streams(*reference);
      reference->advance(5);
      const State after = reference->state();
      const std::vector<std::uint32_t> expected_after = streams(*reference);
      const int words = dynamic_cast<const Resumable&>(*reference).stream_words();
      EXPECT_EQ(std::ssize(expected), words * groups(problem) * sites(problem));
      // Every launch where the wheels are in the middle, and at a size that has all of them.
      const bool every = half_sweeps == 31 || half_sweeps == 2;
      for (const Launch& launch : every ? launches_for(problem) : indexings_for(problem)) {
        SCOPED_TRACE(std::to_string(half_sweeps) + " half-sweeps; " + describe(problem) + "; " + describe(launch));
        const auto one = make(problem, launch), two = make(problem, launch);
        EXPECT_EQ(dynamic_cast<const Resumable&>(*one).stream_words(), words);
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

/// More lattices and more streams than travel at once: 32 MiB on a GPU, 1 MiB on host threads (lattices.cuh).
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
  take_state(*simulation, [&](std::span<const Spin> spins) {
    EXPECT_EQ(std::ssize(spins) % sites(problem), 0);
    taken.spins.insert(taken.spins.end(), spins.begin(), spins.end());
  });
  EXPECT_TRUE(same(taken, reference->state()));
  simulation->advance(2);
  reference->advance(2);
  EXPECT_TRUE(same(simulation->state(), reference->state()));
}

/// A run of samples S, S + 1, ... has the spins, streams and exchanges that these have in the run of all of them: in
/// every engine, with every generator, in as many sweeps as any kernel does at once.
TEST_P(Engine, HasTheSamplesOfALargerProblem) {
  for (const Generator generator : generators) {
    if (!promises(generator, GetParam())) continue;
    for (const bool ladder : {false, true}) {
      if (ladder && generator != Generator::minstd && generator != Generator::philox) continue;
      Problem all = with_generator(small_problem(6), generator);
      all.replicas = 4;
      all.samples = 40;
      if (generator != Generator::philox_planes) all.samples_per_stream = 16;
      if (ladder) all.ladder = {{0.9, 1.3}, 1};
      const auto reference = reference::make_simulation(all, {});
      reference->advance(17);
      const State of_all = reference->state();
      const std::vector<std::uint32_t> streams_of_all = streams(*reference);
      for (const auto& [first, samples] : {std::pair{16, 16}, {32, 8}}) {
        if (ladder && first == 16) continue;
        Problem part = all;
        part.first_sample = first;
        part.samples = samples;
        State expected = of_all;
        expected.samples = samples;
        const auto cut = [&](auto& numbers, std::int64_t of_sample) {
          numbers = {numbers.begin() + first * of_sample, numbers.begin() + (first + samples) * of_sample};
        };
        cut(expected.spins, all.replicas * sites(all));
        if (ladder) {
          cut(expected.exchanges.accepted, all.replicas);
          cut(expected.exchanges.walkers, all.replicas);
        }
        std::vector<std::uint32_t> expected_streams;
        const std::int64_t of_word = groups(all) * sites(all), skipped = first / all.samples_per_stream * sites(all);
        for (auto word = streams_of_all.begin(); word < streams_of_all.end(); word += of_word)
          expected_streams.insert(expected_streams.end(), word + skipped, word + skipped + groups(part) * sites(part));
        for (const Launch& launch : indexings_for(part)) {
          SCOPED_TRACE(describe(part) + ", from sample " + std::to_string(first) + "; " + describe(launch));
          const auto simulation = make(part, launch);
          simulation->advance(1);
          simulation->advance(16);
          EXPECT_TRUE(same(simulation->state(), expected));
          EXPECT_TRUE(streams(*simulation) == expected_streams);
        }
      }
    }
  }
}

TEST_P(Engine, RefusesToGoOnFromAnotherProblem) {
  const Problem problem = small_problem(6);
  const auto simulation = make(problem, {});
  const State start = simulation->state();
  const auto refused = [&](std::int64_t half_sweeps, const State& state) {
    EXPECT_THROW(
        dynamic_cast<Resumable&>(*simulation).resume(half_sweeps, state, [](auto) { ADD_FAILURE() << "took streams"; }),
        InvalidInput);
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

/// An engine that can measure where its spins are finds what the host finds in the spins of the reference.
TEST_P(Engine, ObservesAsTheHostDoes) {
  if (!observes_on_the_device()) {
    EXPECT_EQ(dynamic_cast<const Observing*>(make(small_problem(4), {}).get()), nullptr);
    return;
  }
  for (const std::int64_t size : {4, 6, 8, 10}) {
    for (const auto& [samples, replicas] : {std::pair{1, 1}, {3, 2}, {33, 4}, {65, 5}, {2, 6}}) {
      if (samples == 65 && size > 6) {
        continue;  // three words and ten pairs of replicas are counted as at other sizes, only longer
      }
      Problem problem = small_problem(size);
      problem.samples = samples;
      problem.replicas = replicas;
      if (replicas == 6) problem.ladder = {{1.0, 2.0}, 5};  // three copies
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
            const auto found = dynamic_cast<const Observing&>(*simulation).observe(correlations);
            ASSERT_TRUE(found);
            EXPECT_TRUE(*found == expected[2 * i + correlations]) << (correlations ? "with" : "no") << " correlations";
          }
          EXPECT_TRUE(same(simulation->state(), states[i]));
        }
      }
    }
  }
}

TEST_P(Engine, ObservesAsTheHostDoesInWordsOfSites) {
  if (!observes_on_the_device() || !promises(Generator::philox_planes, GetParam())) return;
  for (const std::int64_t size : {4, 10, 36, 64}) {  // rows of 1, 1, 2 and 2 words
    Problem problem = with_generator(small_problem(size), Generator::philox_planes);
    problem.samples = size < 36 ? 5 : 1;
    problem.replicas = size < 36 ? 4 : 2;
    const auto simulation = make(problem, {});
    simulation->advance(3);
    const State state = simulation->state();
    for (const bool correlations : {false, true}) {
      const auto found = dynamic_cast<const Observing&>(*simulation).observe(correlations);
      ASSERT_TRUE(found && std::ssize(*found) == problem.samples);
      for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
        EXPECT_TRUE((*found)[static_cast<std::size_t>(sample)] ==
                    observe(state, sample, sample_couplings(problem, sample), correlations))
            << describe(problem) << ", sample " << sample << (correlations ? ", with" : ", no") << " correlations";
      }
    }
  }
}

TEST_P(Engine, MeasuresTimeAndCountsBytes) {
  Problem problem = small_problem(16);
  const Launch launch = moving_launch();
  const auto with_two = make(problem, launch);
  EXPECT_GT(with_two->advance(4), 0);
  problem.replicas = 4;
  const auto with_four = make(problem, launch);
  EXPECT_GT(with_four->bytes_per_flip(), 3 * bytes_per_spin());        // a spin in and out, and one of its neighbours
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
  expect_refused([](Problem& problem) { problem.first_sample = 3; }, "--first-sample is 3: allowed are multiples of");
  expect_refused([](Problem& problem) { problem.first_sample = -2; }, "--first-sample is -2");
  expect_refused([](Problem& problem) { problem.first_sample = 1 << 26; }, "--first-sample is 67108864");
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
  for (const Generator generator : all_generators) {
    const Problem problem = with_generator(small_problem(4), generator);
    if (promises(generator, GetParam())) {
      EXPECT_EQ(refusal(problem, {}), "");
    } else {
      EXPECT_THAT(refusal(problem, {}),
                  AllOf(HasSubstr("--generator is " + std::string(name(generator)) + ":"), HasSubstr(" minstd")));
    }
  }
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
    if (!promises(generator, GetParam())) {
      continue;
    }
    for (const std::int64_t size : {4, 6, 8}) {
      Problem problem = with_generator(small_problem(size), generator);
      expect_reference_bits(problem, launches_for(problem), few_);
      problem.replicas = 5;  // no divisor of Philox's four numbers at a time, nor of a wheel
      expect_reference_bits(problem, launches_for(problem), {1, 2, 30});
    }
    // Once around the largest wheel and on: 7 * 100 numbers.
    Problem problem = with_generator(small_problem(4), generator);
    problem.replicas = 7;
    expect_reference_bits(problem, indexings_for(problem), {200});
  }
}

/// Words of 10, 12, 13, 14, 29, 31 and 32 sites; rows of 1, 2 and 3 words; costs that the planes decide, and such that
/// they do not.
TEST_P(EngineAgainstReference, AgreesForEverySizeOfWordsOfSites) {
  if (!promises(Generator::philox_planes, GetParam())) return;
  for (const std::int64_t size : {10, 12, 14, 26, 32, 58, 62, 64, 96}) {
    Problem problem = with_generator(small_problem(size), Generator::philox_planes);
    problem.beta = size == 32 ? 1 / 4.0 : size == 64 ? 1 / 2.0 : 1 / 1.1;
    problem.replicas = 4;
    if (size > 32) problem.samples = 1;
    std::vector<Launch> launches = indexings_for(problem);
    if (size == 32 || size == 26) launches = launches_for(problem);
    expect_reference_bits(problem, launches, {3});
  }
}

/// Every sample and replica has draws of its own, whatever shares its threads.
TEST_P(EngineAgainstReference, AgreesForManySystemsOfWordsOfSites) {
  if (!promises(Generator::philox_planes, GetParam())) return;
  for (const std::int64_t replicas : {1, 2, 5, 6, 8}) {
    Problem problem = with_generator(small_problem(8), Generator::philox_planes);
    problem.samples = 7;
    problem.replicas = replicas;
    problem.seed = (std::uint64_t{1} << 32) + 5;
    std::vector<Launch> launches = launches_for(problem);
    for (Launch launch : indexings_for(problem)) {
      if (launch.kernel == Kernel::spread) continue;  // its tile decides
      for (const int threads : {32, 96, 128}) {
        launch.threads = threads;
        launches.push_back(launch);
      }
    }
    expect_reference_bits(problem, launches, few_);
  }
}

/// So many at once that a kernel which does several sweeps in one pass does so, after half a sweep and before one.
TEST_P(EngineAgainstReference, AgreesOverManySweeps) {
  if (!promises(Generator::philox, GetParam())) return;
  for (const std::int64_t size : {6, 14}) {
    Problem problem = with_generator(small_problem(size), Generator::philox);
    problem.replicas = 4;
    problem.samples = 70;
    problem.samples_per_stream = 64;
    expect_reference_bits(problem, indexings_for(problem), {1, 14, 2});
  }
}

/// Exchanges after odd and even numbers of sweeps, both parities, in words with bits of no sample.
TEST_P(EngineAgainstReference, AgreesForALadderOfTemperatures) {
  for (const Generator generator : {Generator::minstd, Generator::philox}) {
    if (!promises(generator, GetParam())) continue;
    for (const std::int64_t size : {4, 6}) {
      Problem problem = small_problem(size);
      problem.generator = generator;
      problem.ladder = {{0.9, 1.2, 1.6, 2.2}, size / 2 - 1};
      problem.replicas = 8;
      problem.samples = 70;
      problem.samples_per_stream = 64;
      expect_reference_bits(problem, size == 4 ? launches_for(problem) : indexings_for(problem), {3, 1, 1, 9});
    }
    Problem problem = small_problem(4);  // copies that share elements, words of 128 samples
    problem.generator = generator;
    problem.ladder = {{0.5, 0.8, 1.0, 1.1, 1.3}, 1};
    problem.samples_per_stream = 128;
    for (const std::int64_t copies : {3, 4}) {
      problem.replicas = copies * 5;
      expect_reference_bits(problem, indexings_for(problem), {2, 2, 8});
    }
  }
}

TEST_P(Engine, GoesOnWithALadder) {
  Problem problem = small_problem(4);
  problem.ladder = {{0.9, 1.2, 1.6}, 1};
  problem.replicas = 6;
  problem.samples = 40;
  const auto reference = reference::make_simulation(problem, {});
  reference->advance(13);
  const auto simulation = make(problem, {});
  resume(*simulation, 13, reference->state(), streams(*reference));
  EXPECT_TRUE(same(simulation->state(), reference->state()));
  EXPECT_GT(std::ranges::count_if(reference->exchanges().accepted, [](auto many) { return many > 1; }), 0);
  simulation->advance(7);
  reference->advance(7);
  EXPECT_TRUE(same(simulation->state(), reference->state()));
  simulation->restart();
  EXPECT_TRUE(simulation->exchanges() == make(problem, {})->exchanges());
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
  for (const Refusal& refused : refusals()) {
    EXPECT_THAT(refusal(refused.problem, refused.launch), HasSubstr(refused.part));
  }
}

INSTANTIATE_TEST_SUITE_P(SpinGlass, Engine, testing::ValuesIn(platform_names(true)), by_name);
INSTANTIATE_TEST_SUITE_P(SpinGlass, EngineAgainstReference, testing::ValuesIn(platform_names(false)), by_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EngineAgainstReference);

}  // namespace
}  // namespace psflip::spin_glass
