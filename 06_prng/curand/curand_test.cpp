// cuRAND's generators, which stage 00 does not have: what can be told without it.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "spin_glass/test/engine_test.hpp"
#include "spin_glass/test/physics.hpp"

namespace psflip::spin_glass {
namespace {

using testing::HasSubstr;

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
    EXPECT_EQ(dynamic_cast<Resumable*>(simulation.get()), nullptr);
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

std::vector<std::string> platforms_with_curand() {
  std::vector<std::string> names = platform_names(false);
  std::erase_if(names, [](const std::string& platform) { return !promises(Generator::curand_xorwow, platform); });
  return names;
}

INSTANTIATE_TEST_SUITE_P(SpinGlass, EngineWithCurand, testing::ValuesIn(platforms_with_curand()), by_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EngineWithCurand);

}  // namespace
}  // namespace psflip::spin_glass
