// The stencil against a loop over the lattice that knows no layout: the same words, whatever the indexing, the load
// path and the block.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "05_sliced/stencil/stencil.hpp"
#include "app/invalid_input.hpp"
#include "gpu/platform_test.hpp"
#include "gpu/platforms.hpp"

namespace psflip::stencil {
namespace {

using spin_glass::Indexing;
using spin_glass::Load;
using testing::AllOf;
using testing::HasSubstr;

const auto& platforms() {
  static const auto all = PSFLIP_PLATFORMS(make_stencil);
  return all;
}

std::string describe(std::int64_t size, const Launch& launch) {
  return "L = " + std::to_string(size) + ", " + std::string(name(*launch.indexing)) + ", " +
         std::string(name(*launch.load)) + ", threads " +
         (launch.threads ? std::to_string(*launch.threads) : "left to the engine");
}

/// The words after so many half-sweeps, in the order of s.
std::vector<Word> brute_force(std::int64_t size, int half_sweeps) {
  const auto site = [size](std::int64_t x, std::int64_t y, std::int64_t z) {
    return (x + size) % size + size * ((y + size) % size + size * ((z + size) % size));
  };
  std::vector<Word> words(static_cast<std::size_t>(size * size * size));
  for (std::size_t s = 0; s < words.size(); ++s) words[s] = start(static_cast<std::int64_t>(s));
  for (int half_sweep = 0; half_sweep < half_sweeps; ++half_sweep) {
    for (std::int64_t z = 0; z < size; ++z) {
      for (std::int64_t y = 0; y < size; ++y) {
        for (std::int64_t x = 0; x < size; ++x) {
          if ((x + y + z) % 2 != half_sweep % 2) continue;
          const std::int64_t here = site(x, y, z);
          const std::int64_t after[] = {site(x + 1, y, z), site(x, y + 1, z), site(x, y, z + 1)};
          const std::int64_t before[] = {site(x - 1, y, z), site(x, y - 1, z), site(x, y, z - 1)};
          Word word = 0;
          for (int d = 0; d < 3; ++d) {
            word ^= words[static_cast<std::size_t>(after[d])] ^ coupling(3 * here + d);
            word ^= words[static_cast<std::size_t>(before[d])] ^ coupling(3 * before[d] + d);
          }
          words[static_cast<std::size_t>(here)] = word;
        }
      }
    }
  }
  return words;
}

std::uint64_t sum_of_terms(const std::vector<Word>& words) {
  std::uint64_t sum = 0;
  for (std::size_t s = 0; s < words.size(); ++s) sum += checksum_term(static_cast<std::int64_t>(s), words[s]);
  return sum;
}

class Stencil : public PlatformTest<platforms> {
 protected:
  std::unique_ptr<Engine> make(std::int64_t size, const Launch& launch) const { return platform_->make(size, launch); }
};

TEST_P(Stencil, EveryVariantHasTheWordsOfTheBruteForceLoop) {
  for (const std::int64_t size : {4, 6, 10, 16}) {
    const std::vector<Word> expected[] = {brute_force(size, 0), brute_force(size, 1), brute_force(size, 2),
                                          brute_force(size, 3)};
    for (const Indexing indexing : spin_glass::indexings) {
      if (indexing == Indexing::bitwise && (size == 6 || size == 10)) continue;
      for (const Load load : spin_glass::loads) {
        for (const std::optional<int> threads : {std::optional<int>(), {1}, {7}, {32}, {100}, {1024}}) {
          const Launch launch{.indexing = indexing, .load = load, .threads = threads};
          SCOPED_TRACE(describe(size, launch));
          const auto engine = make(size, launch);
          for (int half_sweep = 0; half_sweep <= 3; ++half_sweep) {
            SCOPED_TRACE("half-sweep " + std::to_string(half_sweep));
            ASSERT_EQ(engine->words(), expected[half_sweep]);
            ASSERT_EQ(engine->checksum(), sum_of_terms(expected[half_sweep]));
            engine->advance(1);
          }
        }
      }
    }
  }
}

TEST_P(Stencil, AdvancesAsFarAsItIsTold) {
  const auto engine = make(10, {});
  EXPECT_GE(engine->advance(0), 0);
  EXPECT_EQ(engine->words(), brute_force(10, 0));
  EXPECT_GT(engine->advance(3), 0);
  EXPECT_GT(engine->advance(4), 0);
  EXPECT_EQ(engine->words(), brute_force(10, 7));
}

TEST_P(Stencil, StartsAgainWithRed) {
  const auto engine = make(6, {});
  engine->advance(3);
  engine->restart();
  EXPECT_EQ(engine->words(), brute_force(6, 0));
  engine->advance(1);
  EXPECT_EQ(engine->words(), brute_force(6, 1));
}

TEST_P(Stencil, ReportsTheLaunchThatItUses) {
  const Launch chosen = make(8, {})->launch();
  EXPECT_TRUE(chosen.indexing && chosen.load && chosen.threads);
  const Launch wish{.indexing = Indexing::sliced_grid, .load = Load::texture, .threads = 96};
  const Launch used = make(8, wish)->launch();
  EXPECT_EQ(used.indexing, wish.indexing);
  EXPECT_EQ(used.load, wish.load);
  EXPECT_EQ(used.threads, wish.threads);
}

TEST_P(Stencil, RefusesWhatItCannotDo) {
  const auto refusal = [this](std::int64_t size, const Launch& launch) -> std::string {
    try {
      make(size, launch);
    } catch (const InvalidInput& refused) {
      return refused.what();
    }
    return "not refused";
  };
  for (const int size : {-4, 0, 2, 5, 7, 1626})
    EXPECT_THAT(refusal(size, {}), AllOf(HasSubstr("--size is " + std::to_string(size)), HasSubstr("4 to 1624")));
  EXPECT_THAT(refusal(6, {.indexing = Indexing::bitwise}), AllOf(HasSubstr("power of two"), HasSubstr("not 6")));
  for (const int threads : {0, 1025})
    EXPECT_THAT(refusal(8, {.threads = threads}), HasSubstr("--threads is " + std::to_string(threads)));
  EXPECT_THAT(refusal(1026, {.indexing = Indexing::sliced_grid}),
              AllOf(HasSubstr("--size is 1026"), HasSubstr("1024 threads")));
  // Before the memory is asked for, which would be 8.6 GB for each of the eight arrays.
  EXPECT_THAT(refusal(1624, {.load = Load::texture}), AllOf(HasSubstr("texture"), HasSubstr("2141549312 elements")));
}

INSTANTIATE_TEST_SUITE_P(Words, Stencil, testing::ValuesIn(names_of(platforms())), by_name);

}  // namespace
}  // namespace psflip::stencil
