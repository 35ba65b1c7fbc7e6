// Stage 00 has nobody to be compared with, so it is compared with facts: the rule written a second time in another way,
// all states of the smallest lattices, exact averages, and the rule's symmetries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "majority/lattice.hpp"
#include "majority/simulation.hpp"

namespace psflip::majority {
namespace {

Lattice advanced(const Lattice& start, std::int64_t steps, Storage storage = Storage::int8) {
  const auto simulation = reference::make_simulation(start.size, {.storage = storage});
  simulation->set_spins(start);
  simulation->advance(steps);
  return simulation->spins();
}

// ---- Every state of n x n spins, n <= 4, as a word: bit y * n + x is the spin at (x, y)

Lattice unpack(std::uint32_t word, int n) {
  Lattice lattice{n, {}};
  for (int i = 0; i < n * n; ++i) {
    lattice.spins.push_back((word >> i & 1) != 0 ? 1 : -1);
  }
  return lattice;
}

std::uint32_t pack(const Lattice& lattice) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < lattice.spins.size(); ++i) {
    word |= static_cast<std::uint32_t>(lattice.spins[i] > 0) << i;
  }
  return word;
}

/// The words of a state whose rows, and whose columns, have moved by one. Rotations of words, no modulo.
std::uint32_t rows_moved(std::uint32_t word, int n) {
  const std::uint32_t all = (1U << n * n) - 1;
  return (word << n | word >> (n * n - n)) & all;
}
std::uint32_t columns_moved(std::uint32_t word, int n) {
  std::uint32_t moved = 0;
  for (int y = 0; y < n; ++y) {
    const std::uint32_t row = word >> y * n & ((1U << n) - 1);
    moved |= ((row << 1 | row >> (n - 1)) & ((1U << n) - 1)) << y * n;
  }
  return moved;
}
template <class Move>
std::uint32_t repeated(Move move, int times, std::uint32_t word, int n) {
  for (int i = 0; i < times; ++i) {
    word = move(word, n);
  }
  return word;
}

/// The rule on all sites at once: at least three of five bits.
std::uint32_t majority_of_words(std::uint32_t word, int n) {
  const std::uint32_t five[] = {word, rows_moved(word, n), repeated(rows_moved, n - 1, word, n), columns_moved(word, n),
                                repeated(columns_moved, n - 1, word, n)};
  std::uint32_t result = 0;
  for (int i = 0; i < n * n; ++i) {
    int up = 0;
    for (const std::uint32_t one : five) {
      up += static_cast<int>(one >> i & 1);
    }
    result |= static_cast<std::uint32_t>(up >= 3) << i;
  }
  return result;
}

struct Census {
  int fixed = 0;
  int on_two_cycles = 0;
  std::int64_t flips = 0;   ///< in the first step, over all states
  std::int64_t energy = 0;  ///< after the first step, over all states
};

/// Advances all states by one step, checking each, and counts.
Census count_all_states(int n, Storage storage) {
  Census census;
  std::vector<std::uint32_t> next(std::size_t{1} << n * n);
  for (std::uint32_t word = 0; word < next.size(); ++word) {
    const Lattice after = advanced(unpack(word, n), 1, storage);
    next[word] = pack(after);
    EXPECT_EQ(next[word], majority_of_words(word, n)) << "state " << word << " of n = " << n;
    census.flips += std::popcount(next[word] ^ word);
    census.energy += energy(after);
  }
  for (std::uint32_t word = 0; word < next.size(); ++word) {
    census.fixed += next[word] == word ? 1 : 0;
    census.on_two_cycles += next[word] != word && next[next[word]] == word ? 1 : 0;
  }
  return census;
}

class AllStates : public testing::TestWithParam<Storage> {};

TEST_P(AllStates, FollowTheRuleAndHaveTheKnownFixedPointsAndTwoCycles) {
  const int fixed[] = {2, 6, 32, 702};
  const int on_two_cycles[] = {0, 2, 72, 1770};
  for (int n = 1; n <= 4; ++n) {
    const Census census = count_all_states(n, GetParam());
    EXPECT_EQ(census.fixed, fixed[n - 1]) << "n = " << n;
    EXPECT_EQ(census.on_two_cycles, on_two_cycles[n - 1]) << "n = " << n;
    if (n == 4) {  // the smallest n on which a bond and its six further neighbours are eight different sites
      EXPECT_EQ(census.flips * 16, 5 * (std::int64_t{16} << 16));    // 5/16 of all spins
      EXPECT_EQ(census.energy * 16, -9 * (std::int64_t{16} << 16));  // -9/16 a spin
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Reference, AllStates, testing::Values(Storage::int32, Storage::int8));

// ---- Random starts

struct Estimate {
  double mean;
  double error;  ///< standard error of the mean
};

Estimate estimate(const std::vector<double>& values) {
  const double count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return {mean, std::sqrt(squares / (count - 1) / count)};
}

TEST(Reference, FlipsFiveSixteenthsAndLosesNineSixteenthsInTheFirstStep) {
  std::vector<double> flip_fraction;
  std::vector<double> energy_per_site;
  const std::int64_t n = 128;
  for (std::uint32_t seed = 1; seed <= 64; ++seed) {
    const Lattice before = random_lattice(n, seed);
    const Lattice after = advanced(before, 1);
    std::int64_t count = 0;
    for (std::size_t i = 0; i < before.spins.size(); ++i) {
      count += before.spins[i] != after.spins[i] ? 1 : 0;
    }
    flip_fraction.push_back(static_cast<double>(count) / static_cast<double>(n * n));
    energy_per_site.push_back(static_cast<double>(energy(after)) / static_cast<double>(n * n));
  }
  // The starts are independent, so the spread of their means is the error. Beyond 5 of it: once in 10^5 sets of seeds.
  const Estimate flips = estimate(flip_fraction);
  EXPECT_NEAR(flips.mean, 5.0 / 16, 5 * flips.error);
  EXPECT_LT(flips.error, 0.001);
  const Estimate after = estimate(energy_per_site);
  EXPECT_NEAR(after.mean, -9.0 / 16, 5 * after.error);
  EXPECT_LT(after.error, 0.003);
}

Lattice flipped(Lattice lattice) {
  for (Spin& spin : lattice.spins) {
    spin = static_cast<Spin>(-spin);
  }
  return lattice;
}

Lattice translated(const Lattice& lattice, std::int64_t right, std::int64_t down) {
  Lattice result = lattice;
  const std::int64_t n = lattice.size;
  for (std::int64_t y = 0; y < n; ++y) {
    for (std::int64_t x = 0; x < n; ++x) {
      result.spins[(y + down) % n * n + (x + right) % n] = lattice.spins[y * n + x];
    }
  }
  return result;
}

TEST(Reference, CommutesWithAGlobalFlipAndWithTranslations) {
  for (const std::int64_t n : {1, 2, 3, 8, 31}) {
    const Lattice start = random_lattice(n, 7);
    const Lattice end = advanced(start, 3);
    EXPECT_EQ(advanced(flipped(start), 3), flipped(end)) << "n = " << n;
    for (const auto& [right, down] : {std::pair{1, 0}, {0, 1}, {5, 30}}) {
      EXPECT_EQ(advanced(translated(start, right, down), 3), translated(end, right, down))
          << "n = " << n << " by " << right << ", " << down;
    }
  }
}

/// Sum over the sites of |sum of the five|.
std::int64_t total_field(const Lattice& lattice) {
  const std::int64_t n = lattice.size;
  std::vector<int> field(lattice.spins.size());
  for (const auto& [right, down] : {std::pair{0, 0}, {1, 0}, {n - 1, 0}, {0, 1}, {0, n - 1}}) {
    const Lattice neighbour = translated(lattice, right, down);
    for (std::size_t i = 0; i < field.size(); ++i) {
      field[i] += neighbour.spins[i];
    }
  }
  return std::accumulate(field.begin(), field.end(), std::int64_t{0},
                         [](std::int64_t sum, int h) { return sum + std::abs(h); });
}

TEST(Reference, NeverLowersTheTotalField) {
  Lattice lattice = random_lattice(61, 3);
  std::int64_t before = total_field(lattice);
  const std::int64_t first = before;
  for (int step = 0; step < 40; ++step) {
    lattice = advanced(lattice, 1);
    const std::int64_t now = total_field(lattice);
    EXPECT_GE(now, before) << "step " << step;
    before = now;
  }
  EXPECT_GT(before, first);
}

}  // namespace
}  // namespace psflip::majority
