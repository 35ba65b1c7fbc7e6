// The fill and count kernels against the standard library's and stage 00's generators: every number of every stream,
// whatever the number of streams, of streams a thread and of threads a block, over several launches in a row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "06_prng/fill/fill.hpp"
#include "06_prng/fill/fill_reference.hpp"
#include "app/invalid_input.hpp"
#include "gpu/platform_test.hpp"
#include "gpu/platforms.hpp"
#if PSFLIP_HAS_CURAND
#include "06_prng/fill/curand_fill.hpp"
#endif

namespace psflip::prng {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const auto& platforms() {
  static const auto all = PSFLIP_PLATFORMS(fill_makers);
  return all;
}

constexpr std::uint64_t seed = 0x123456789abcdef0;

struct Streams {
  Streams(const std::string& generator, std::int64_t count, std::uint64_t of_seed = seed) : bits(bits_of(generator)) {
    for (std::int64_t id = 0; id < count; ++id) next.push_back(reference_stream(generator, of_seed, id));
  }

  /// What the next fill() has to leave.
  std::vector<float> fill(std::int64_t elements) {
    std::vector<float> expected;
    while (static_cast<std::int64_t>(expected.size()) < elements)
      for (auto& stream : next)  // the cut from 24 bits by another formula than unit_float's
        expected.push_back(static_cast<float>(std::ldexp(static_cast<double>(stream() >> (bits - 24)), -24)));
    expected.resize(static_cast<std::size_t>(elements));
    return expected;
  }

  /// What the next count() has to add.
  std::vector<std::uint32_t> odd(std::int64_t draws) {
    std::vector<std::uint32_t> counts;
    for (auto& stream : next) {
      std::uint32_t odd = 0;
      for (std::int64_t i = 0; i < draws; ++i) odd += stream() % 2;
      counts.push_back(odd);
    }
    return counts;
  }

  int bits;
  std::vector<std::function<std::uint32_t()>> next;
};

Sums sums_of(const std::vector<float>& numbers) {
  Sums sums;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &numbers[i], sizeof bits);
    sums.checksum += mix(mix(i) + bits);
    sums.mean += numbers[i];
    sums.outside += numbers[i] < 0 || numbers[i] > 1;
  }
  sums.mean /= static_cast<double>(numbers.size());
  return sums;
}

class Fill : public PlatformTest<platforms> {
 protected:
  const Makers* makers() const { return platform_->make; }
};

TEST_P(Fill, EveryNumberIsThatOfTheReference) {
  for (const std::string& generator : own_generators) {
    // No multiples of a warp or of s, one that is both, and one element too many or too few for whole steps.
    for (const std::int64_t streams : {1, 7, 31, 33, 130, 256, 1001}) {
      for (const std::int64_t elements : {streams * 700, streams * 130 + 1, streams * 65 - 1}) {
        for (const int s : {1, 2, 4}) {
          for (const int threads : {32, 100}) {
            if (elements < 1) continue;
            SCOPED_TRACE(generator + ", " + std::to_string(streams) + " streams, " + std::to_string(elements) +
                         " elements, s = " + std::to_string(s) + ", " + std::to_string(threads) + " threads");
            if (threads == 100 && elements > 70000) continue;
            const auto filler =
                makers()->filler(generator, elements, seed, {.streams = streams, .per_thread = s, .threads = threads});
            Streams expected(generator, streams);
            for (int launch = 0; launch < (elements > 70000 ? 1 : 3); ++launch) {
              filler->fill();
              ASSERT_EQ(filler->elements(0, 1), expected.fill(elements)) << "launch " << launch;
            }
          }
        }
      }
    }
  }
}

TEST_P(Fill, CountsTheOddNumbersOfTheReference) {
  for (const std::string& generator : own_generators) {
    for (const std::int64_t streams : {1, 35, 66, 1000}) {
      for (const int s : {1, 2, 4}) {
        SCOPED_TRACE(generator + ", " + std::to_string(streams) + " streams, s = " + std::to_string(s));
        const auto counter = makers()->counter(generator, seed, {.streams = streams, .per_thread = s, .threads = 96});
        Streams expected(generator, streams);
        std::vector<std::uint32_t> odd(static_cast<std::size_t>(streams));
        for (const int draws : {1, 2, 61, 130, 625, 3}) {  // across each wheel's turn, and not from its beginning
          counter->count(draws);
          std::ranges::transform(odd, expected.odd(draws), odd.begin(), std::plus<>());
          ASSERT_EQ(counter->odd(), odd) << "after " << draws << " draws";
        }
      }
    }
  }
}

TEST_P(Fill, MillionsOfNumbersOfManyStreams) {
  for (const std::string& generator : own_generators) {
    SCOPED_TRACE(generator);
    const std::int64_t streams = 4100, draws = 1250;
    const auto counter = makers()->counter(generator, seed + 1, {.streams = streams, .per_thread = 4, .threads = 128});
    Streams expected(generator, streams, seed + 1);
    counter->count(draws);
    EXPECT_EQ(counter->odd(), expected.odd(draws));
  }
}

TEST_P(Fill, StartsAgain) {
  for (const std::string& generator : own_generators) {
    SCOPED_TRACE(generator);
    const auto filler = makers()->filler(generator, 5000, seed, {.streams = 50, .per_thread = 2});
    filler->fill();
    const auto first = filler->elements(0, 1);
    filler->fill();
    EXPECT_NE(filler->elements(0, 1), first);
    EXPECT_GE(filler->seed(), 0);
    EXPECT_GT(filler->fill(), 0);
    EXPECT_EQ(filler->elements(0, 1), first);

    const auto counter = makers()->counter(generator, seed, {.streams = 50});
    counter->count(500);
    const auto odd = counter->odd();
    counter->seed();
    EXPECT_EQ(counter->odd(), std::vector<std::uint32_t>(50));
    counter->count(500);
    EXPECT_EQ(counter->odd(), odd);
  }
}

TEST_P(Fill, SumsAreThoseOfTheElements) {
  const auto filler = makers()->filler("philox", 100'003, seed, {.streams = 1000, .per_thread = 4});
  filler->fill();
  const Sums expected = sums_of(filler->elements(0, 1)), sums = filler->sums();
  EXPECT_EQ(sums.checksum, expected.checksum);
  EXPECT_NEAR(sums.mean, expected.mean, 1e-9);
  EXPECT_NEAR(sums.mean, 0.5, 5 / std::sqrt(12 * 1e5));
  EXPECT_EQ(sums.outside, 0U);
  const std::vector<float> all = filler->elements(0, 1), some = filler->elements(3, 1000);
  ASSERT_EQ(some.size(), 100U);
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i], all[3 + 1000 * i]);
  EXPECT_TRUE(filler->elements(100'003, 1).empty());
}

TEST_P(Fill, StatesAreAsLargeAsTheyAreSaidToBe) {
  const Shape shape{.streams = 1000};
  EXPECT_EQ(makers()->counter("minstd", seed, shape)->state(1000).bytes, 4000);
  EXPECT_EQ(makers()->counter("parisi-rapuano", seed, shape)->state(1000).bytes, 62 * 4000);
  EXPECT_EQ(makers()->counter("mt19937", seed, shape)->state(1000).bytes, 624 * 4000);
  EXPECT_EQ(makers()->counter("philox", seed, shape)->state(1000).bytes, 0);
  EXPECT_DOUBLE_EQ(makers()->counter("minstd", seed, shape)->state(1000).bytes_per_draw, 0.008);
  EXPECT_DOUBLE_EQ(makers()->counter("parisi-rapuano", seed, shape)->state(1000).bytes_per_draw, 16);
  EXPECT_DOUBLE_EQ(makers()->filler("minstd", 8000, seed, shape)->state().bytes_per_draw, 1);
}

TEST_P(Fill, MeasuresWriting) {
  for (const bool by_kernel : {false, true}) EXPECT_GT(makers()->write_bandwidth(0, 1 << 20, by_kernel, 3), 0);
  EXPECT_GT(makers()->resident_threads(0), 0);
}

TEST_P(Fill, RefusesWhatItCannotDo) {
  const auto refusal = [this](const std::string& generator, std::int64_t elements, const Shape& shape) -> std::string {
    try {
      makers()->filler(generator, elements, seed, shape);
    } catch (const InvalidInput& refused) {
      return refused.what();
    }
    return "not refused";
  };
  EXPECT_THAT(refusal("minstd", 0, {.streams = 1}), HasSubstr("--elements is 0"));
  EXPECT_THAT(refusal("minstd", 1, {.streams = 0}), HasSubstr("--streams is 0"));
  EXPECT_THAT(refusal("minstd", 1, {.streams = 1, .per_thread = 3}), HasSubstr("--per-thread is 3"));
  EXPECT_THAT(refusal("minstd", 1, {.streams = 1, .threads = 1025}), HasSubstr("--threads is 1025"));
  EXPECT_THAT(refusal("mersenne", 1, {.streams = 1}), AllOf(HasSubstr("mersenne"), HasSubstr("no such generator")));
  EXPECT_THAT(refusal("mt19937", 1, {.streams = 1 << 30}), HasSubstr("device memory"));
  EXPECT_THAT(refusal("minstd", std::int64_t{1} << 45, {.streams = 1}), HasSubstr("--elements 35184372088832"));
}

// The references among themselves.
TEST(FillReference, TenRoundsAreThoseOfStage00) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint64_t key = mix(i);
    const std::array<std::uint32_t, 4> counter = {i, 3 * i, ~i, i << 20};
    EXPECT_EQ(
        philox_rounds(10, counter, key),
        reference::philox4x32_10(counter, {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}));
  }
}

#if PSFLIP_HAS_CURAND
class CurandFill : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::devices().empty()) GTEST_SKIP() << "no GPU here";
  }
};

TEST_F(CurandFill, FillsWithNumbersBetween0And1) {
  const std::int64_t elements = 1'000'000;
  for (const std::string& generator : curand_fillers) {
    for (const std::string& ordering : curand_orderings) {
      SCOPED_TRACE(generator + ", " + ordering);
      std::unique_ptr<Filler> filler;
      try {
        filler = gpu::make_curand_filler(generator, ordering, elements, seed, 0);
      } catch (const InvalidInput&) {
        EXPECT_EQ(ordering, "dynamic");  // which not all have
        continue;
      }
      EXPECT_GT(filler->fill(), 0);
      const Sums sums = filler->sums();
      EXPECT_EQ(sums.outside, 0U);
      EXPECT_NEAR(sums.mean, 0.5, 5 / std::sqrt(12. * elements));
      filler->fill();
      EXPECT_NE(filler->sums().checksum, sums.checksum);
      EXPECT_GT(filler->seed(), 0);
      filler->fill();
      EXPECT_EQ(filler->sums().checksum, sums.checksum);
    }
  }
}

TEST_F(CurandFill, CountsOddNumbersOfStreamsThatGoOn) {
  const Shape shape{.streams = 100 * 64, .threads = 64};
  for (const std::string& generator : curand_counters) {
    SCOPED_TRACE(generator);
    const auto counter = gpu::make_curand_counter(generator, seed, shape);
    counter->count(1000);
    const auto odd = counter->odd();
    double sum = 0;
    for (const std::uint32_t each : odd) sum += each;
    EXPECT_NEAR(sum / 6.4e6, 0.5, 5 * 0.5 / std::sqrt(6.4e6));
    counter->seed();
    for (const int draws : {1, 2, 300, 697}) counter->count(draws);  // in pieces, so the states have to be put back
    EXPECT_EQ(counter->odd(), odd);
    counter->count(1000);
    EXPECT_NE(counter->odd(), odd);
  }
}

TEST_F(CurandFill, PhiloxIsStage00sWithAnotherCounter) {
  const auto counter = gpu::make_curand_counter("curand-philox", seed, {.streams = 70, .threads = 64});
  counter->count(41);
  const std::vector<std::uint32_t> odd = counter->odd();
  for (std::uint32_t id = 0; id < 70; ++id) {
    std::uint32_t expected = 0;
    for (std::uint32_t n = 0; n < 41; ++n)
      expected += reference::philox4x32_10({n / 4, 0, id, 0}, {static_cast<std::uint32_t>(seed),
                                                               static_cast<std::uint32_t>(seed >> 32)})[n % 4] &
                  1;
    EXPECT_EQ(odd[id], expected) << "stream " << id;
  }
}

TEST_F(CurandFill, RefusesMoreThanMtgp32Has) {
  const auto make = [](std::int64_t streams, int threads) {
    gpu::make_curand_counter("curand-mtgp32", seed, {.streams = streams, .threads = threads});
  };
  EXPECT_NO_THROW(make(std::int64_t{mtgp32_blocks} * 256, 256));
  EXPECT_THROW(make(std::int64_t{mtgp32_blocks + 1} * 256, 256), InvalidInput);
  EXPECT_THROW(make(512, 512), InvalidInput);
  EXPECT_THROW(make(300, 256), InvalidInput);
}
#endif

INSTANTIATE_TEST_SUITE_P(Numbers, Fill, testing::ValuesIn(names_of(platforms())), by_name);

}  // namespace
}  // namespace psflip::prng
