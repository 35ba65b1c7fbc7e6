// Known answers for the mixing function and MINSTD, and that what should differ differs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "random/minstd.hpp"
#include "random/streams.hpp"

namespace psflip {
namespace {

bool all_differ(std::vector<std::uint64_t> words) {
  std::ranges::sort(words);
  return std::ranges::adjacent_find(words) == words.end();
}

TEST(SplitMix64, GivesThePublishedWords) {
  SplitMix64 words(1234567);
  for (const std::uint64_t expected : {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                       4593380528125082431U, 16408922859458223821U}) {
    EXPECT_EQ(words(), expected);
  }
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdaf);
  EXPECT_EQ(SplitMix64(0)(), mix(0));
}

TEST(Mix, ChangesHalfOfTheBitsForEveryBitOfItsArgument) {
  for (int bit = 0; bit < 64; ++bit) {
    int changed = 0;
    const int words = 1000;
    for (std::uint64_t word = 0; word < words; ++word) {
      changed += std::popcount(mix(word) ^ mix(word ^ std::uint64_t{1} << bit));
    }
    // The sum of 64 000 coin tosses has a standard deviation of 126.
    EXPECT_NEAR(changed, 32 * words, 5 * std::sqrt(64.0 * words / 4)) << "bit " << bit;
  }
}

TEST(Streams, AreTheHashOfTheirNumbers) {
  EXPECT_EQ(stream_seed(42, 3, 17), mix(mix(mix(mix(42)) + 3) + 17));
  EXPECT_EQ(hash(42, Purpose::couplings, 3, 17), mix(mix(mix(mix(42) + 1) + 3) + 17));
  EXPECT_EQ(hash(42, Purpose::start, 3, 17), mix(mix(mix(mix(42) + 2) + 3) + 17));
}

TEST(Streams, AllHaveSeedsOfTheirOwn) {
  std::vector<std::uint64_t> words;
  for (const Purpose purpose : {Purpose::dynamics, Purpose::couplings, Purpose::start}) {
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
      for (std::uint64_t group = 0; group < 16; ++group) {
        for (std::uint64_t site = 0; site < 512; ++site) {
          words.push_back(hash(seed, purpose, group, site));
        }
      }
    }
  }
  EXPECT_TRUE(all_differ(words));
}

TEST(Streams, OfOnePurposeSayNothingAboutAnother) {
  // Bits that agree between the words of two purposes, and between those of neighbours in each number: half of them.
  const int count = 20'000;
  struct Pair {
    const char* what;
    std::uint64_t (*one)(std::uint64_t);
    std::uint64_t (*other)(std::uint64_t);
  };
  const auto first = [](std::uint64_t i) { return hash(7, Purpose::dynamics, 0, i); };
  const Pair pairs[] = {{"purposes", first, [](std::uint64_t i) { return hash(7, Purpose::couplings, 0, i); }},
                        {"further purposes", first, [](std::uint64_t i) { return hash(7, Purpose::start, 0, i); }},
                        {"seeds", first, [](std::uint64_t i) { return hash(8, Purpose::dynamics, 0, i); }},
                        {"groups", first, [](std::uint64_t i) { return hash(7, Purpose::dynamics, 1, i); }},
                        {"sites", first, [](std::uint64_t i) { return hash(7, Purpose::dynamics, 0, i + 1); }}};
  for (const auto& [what, one, other] : pairs) {
    int agreeing = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      agreeing += 64 - std::popcount(one(i) ^ other(i));
    }
    EXPECT_NEAR(agreeing, 32 * count, 5 * std::sqrt(64.0 * count / 4)) << what;
  }
}

TEST(Minstd, IsTheEngineOfTheStandard) {
  Minstd stream{1};
  EXPECT_EQ(stream.draw(), 16807U - 1);
  EXPECT_EQ(stream.draw(), 282475249U - 1);
  EXPECT_EQ(stream.draw(), 1622650073U - 1);
  for (int i = 3; i < 10'000; ++i) {
    stream.draw();
  }
  EXPECT_EQ(stream.state, 1043618065U);

  std::minstd_rand0 engine(12345);
  stream = {12345};
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_EQ(stream.draw(), engine() - 1) << "draw " << i;
  }
}

TEST(Minstd, IsRightForExtremeStates) {
  std::vector<std::uint32_t> states = {Minstd::modulus / Minstd::multiplier, Minstd::modulus / Minstd::multiplier + 1};
  for (std::uint32_t i = 1; i <= 100'000; ++i) {
    states.push_back(i);
    states.push_back(Minstd::modulus - i);
  }
  for (const std::uint32_t state : states) {
    Minstd stream{state};
    std::minstd_rand0 engine(state);
    ASSERT_EQ(stream.draw(), engine() - 1) << "state " << state;
    ASSERT_EQ(stream.draw(), engine() - 1) << "state " << state;
  }
  // The largest state that a draw can leave gives the largest draw, 2^31 - 3; the smallest gives 0.
  const std::uint32_t inverse = 1407677000;  // of 16807
  EXPECT_EQ(Minstd{inverse}.draw(), 0U);
  EXPECT_EQ(Minstd{Minstd::modulus - inverse}.draw(), Minstd::modulus - 2);
}

TEST(Minstd, IsSeededWithinItsStates) {
  const std::uint64_t states = Minstd::modulus - 1;
  EXPECT_EQ(Minstd::seeded(0).state, 1U);
  EXPECT_EQ(Minstd::seeded(states - 1).state, Minstd::modulus - 1);
  EXPECT_EQ(Minstd::seeded(states).state, 1U);
  EXPECT_EQ(Minstd::seeded(~std::uint64_t{0}).state, 1 + ~std::uint64_t{0} % states);
  for (std::uint64_t site = 0; site < 10'000; ++site) {
    const std::uint32_t state = Minstd::seeded(stream_seed(42, 0, site)).state;
    EXPECT_TRUE(state >= 1 && state < Minstd::modulus);
  }
}

}  // namespace
}  // namespace psflip
