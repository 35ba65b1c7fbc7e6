// Replica exchange against exact physics: the energies of L = 4 samples at every temperature of a ladder. And what that
// test is worth: it rejects an engine that exchanges wrongly, in each of the ways that this is usually done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "random/minstd.hpp"
#include "random/streams.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/exchange.hpp"
#include "spin_glass/model/ladder_averages.hpp"
#include "spin_glass/model/observables.hpp"

namespace psflip::spin_glass {
namespace {

enum class Mistake {
  none,
  sign_flipped,
  factor_two,              ///< in the exponent
  energies_of_first_copy,  ///< whatever the copy
  one_decision,            ///< of a word's first sample, for all of them
  stream_copied            ///< the colder one gets the stream of the warmer, which keeps it
};

/// A ladder of L = 4 with MINSTD. A replica has its stream in every site; without a mistake it has the bits of all.
class Exchanging {
 public:
  Exchanging(const Problem& problem, Mistake mistake)
      : problem_(problem), mistake_(mistake), thresholds_(problem), metropolis_(spin_glass::thresholds(problem)) {
    const std::int64_t replicas = problem.replicas;
    for (std::int64_t lattice = 0; lattice < problem.samples * replicas; ++lattice) {
      spins_.push_back(start_spins(problem, lattice / replicas, lattice % replicas));
      source_.push_back(lattice % replicas);
    }
    for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
      couplings_.push_back(sample_couplings(problem, sample));
      const std::int64_t group = sample / problem.samples_per_stream;
      for (std::int64_t s = 0; s < sites; ++s) streams_.push_back(Minstd::seeded(stream_seed(problem.seed, group, s)));
    }
    for (int s = 0; s < sites; ++s) {
      for (int d = 0; d < 3; ++d) {
        const int stride = 1 << 2 * d, at = s / stride % 4;
        const int up = s + ((at + 1) % 4 - at) * stride, down = s + ((at + 3) % 4 - at) * stride;
        bonds_[s][2 * d] = {up, 3 * s + d};
        bonds_[s][2 * d + 1] = {down, 3 * down + d};
      }
    }
  }

  void sweep() {
    for (const int colour : {0, 1})
      for (std::int64_t sample = 0; sample < problem_.samples; ++sample)
        for (int s = 0; s < sites; ++s)
          if ((s + s / 4 + s / 16) % 2 == colour) update(sample, s);
    if (++sweeps_ % problem_.ladder.exchange_every == 0) exchange(sweeps_ / problem_.ladder.exchange_every - 1);
  }

  std::int64_t energy_of(std::int64_t lattice) const {
    return energy(4, spins_[lattice], couplings_[lattice / problem_.replicas]);
  }
  const std::vector<std::vector<Spin>>& spins() const { return spins_; }

 private:
  static constexpr int sites = 64;

  void update(std::int64_t sample, int s) {
    std::vector<std::uint32_t> draws(problem_.replicas);
    for (std::uint32_t& draw : draws) draw = streams_[sample * sites + s].draw();
    for (std::int64_t replica = 0; replica < problem_.replicas; ++replica) {
      const std::int64_t lattice = sample * problem_.replicas + replica;
      int unsatisfied = 0;
      for (const auto& [neighbour, bond] : bonds_[s])
        unsatisfied += couplings_[sample][bond] * spins_[lattice][neighbour] * spins_[lattice][s] < 0;
      if (unsatisfied >= 3 || draws[source_[lattice]] < metropolis_[replica].of[unsatisfied])
        spins_[lattice][s] = static_cast<Spin>(-spins_[lattice][s]);
    }
  }

  void exchange(std::int64_t e) {
    const int n = static_cast<int>(temperatures(problem_));
    const ExchangeTable table{thresholds_.of.data(), thresholds_.first.data()};
    std::vector<bool> first_decided(problem_.replicas);
    for (std::int64_t sample = 0; sample < problem_.samples; ++sample) {
      std::vector<std::int64_t> energies(problem_.replicas);
      for (std::int64_t r = 0; r < problem_.replicas; ++r) energies[r] = energy_of(sample * problem_.replicas + r);
      for (std::int64_t r = 0; r + 1 < problem_.replicas; ++r) {
        const int t = static_cast<int>(r % n);
        if (t + 1 == n || (t + e) % 2 != 0) continue;
        const std::int64_t from = mistake_ == Mistake::energies_of_first_copy ? t : r,
                           colder = sample * problem_.replicas + r;
        std::int64_t loss = energies[from] - energies[from + 1];
        if (mistake_ == Mistake::sign_flipped) loss = -loss;
        if (mistake_ == Mistake::factor_two) loss *= 2;
        bool accepted = table.accepts(t, loss, 0, exchange_draw(problem_.seed, colder, e));
        if (mistake_ == Mistake::one_decision) {
          if (sample % problem_.samples_per_stream == 0) first_decided[r] = accepted;
          accepted = first_decided[r];
        }
        if (!accepted) continue;
        std::swap(spins_[colder], spins_[colder + 1]);
        if (mistake_ == Mistake::stream_copied) source_[colder] = source_[colder + 1];
      }
    }
  }

  struct Bond {
    int neighbour, number;
  };

  Problem problem_;
  Mistake mistake_;
  ExchangeThresholds thresholds_;
  ReplicaThresholds metropolis_;
  std::vector<std::vector<Spin>> spins_;  ///< [sample * replicas + replica][s]
  std::vector<std::int64_t> source_;      ///< of the same: the replica whose draws it uses
  std::vector<std::vector<Coupling>> couplings_;
  std::vector<Minstd> streams_;  ///< [sample * sites + s], equal within a group
  std::array<std::array<Bond, 6>, sites> bonds_;
  std::int64_t sweeps_ = 0;
};

/// Exact mean energies by temperature, of samples whose couplings are -1 where std::mt19937(number) draws a word with
/// the highest bit set. By transfer matrices; those at T = 1.1 and 2 are also in physics.cpp, from another program.
constexpr std::array temperatures_of_ladder{0.9, 1.1, 1.4, 1.7, 2.0};
struct Known {
  std::uint32_t number;
  std::array<double, temperatures_of_ladder.size()> energies;
};
constexpr std::array<Known, 3> known{{{1000, {-108.216184, -105.898939, -100.289688, -92.449802, -83.719037}},
                                      {1001, {-110.098092, -107.604356, -101.632309, -93.616438, -85.019579}},
                                      {1002, {-111.211403, -108.217844, -102.264214, -94.829880, -86.528220}}}};

/// Two copies of the ladder, samples in words of four that all have these couplings.
Problem words_of_one_sample(std::uint32_t number) {
  Problem problem{.size = 4, .samples = 96, .samples_per_stream = 4, .seed = number};
  problem.ladder = {{temperatures_of_ladder.begin(), temperatures_of_ladder.end()}, 2};
  problem.replicas = 2 * temperatures(problem);
  std::mt19937 engine(number);
  std::vector<Coupling> couplings(3 * 64);
  for (Coupling& coupling : couplings) coupling = engine() >> 31 != 0 ? -1 : 1;
  problem.given_couplings = std::make_shared<const std::vector<std::vector<Coupling>>>(problem.samples, couplings);
  return problem;
}

struct Found {
  double chi_squared = 0, degrees = 0;  ///< over samples and temperatures
  double largest = 0;                   ///< deviation, in errors
  double largest_error = 0;
};

/// Energies at the temperatures that are known, two copies, samples in words of four; errors are over words.
Found energies_of(Mistake mistake, std::span<const Known> samples) {
  Found found;
  for (const Known& sample : samples) {
    const Problem problem = words_of_one_sample(sample.number);
    Exchanging ladder(problem, mistake);
    std::array<std::vector<double>, temperatures_of_ladder.size()> sums;
    for (auto& of_words : sums) of_words.resize(problem.samples / 4);
    constexpr int sweeps = 500, skipped = 200, apart = 5;
    for (int sweep = 1; sweep <= sweeps; ++sweep) {
      ladder.sweep();
      if (sweep <= skipped || sweep % apart != 0) continue;
      for (std::int64_t lattice = 0; lattice < problem.samples * problem.replicas; ++lattice)
        sums[lattice % temperatures(problem)][lattice / problem.replicas / 4] +=
            static_cast<double>(ladder.energy_of(lattice));
    }
    for (std::size_t at = 0; at < sums.size(); ++at) {
      const double count = static_cast<double>(sums[at].size()), of_word = 8.0 * (sweeps - skipped) / apart;
      double mean = 0, squares = 0;
      for (double& word : sums[at]) mean += (word /= of_word) / count;
      for (const double word : sums[at]) squares += (word - mean) * (word - mean);
      const double error = std::sqrt(squares / (count - 1) / count), off = (mean - sample.energies[at]) / error;
      found.chi_squared += off * off;
      ++found.degrees;
      found.largest = std::max(found.largest, std::abs(off));
      found.largest_error = std::max(found.largest_error, error);
    }
  }
  return found;
}

/// Chi-squared less its mean, in units of its standard deviation.
double excess(const Found& found) { return (found.chi_squared - found.degrees) / std::sqrt(2 * found.degrees); }

TEST(Tempering, HasTheExactEnergiesAtEveryTemperature) {
  const Found found = energies_of(Mistake::none, known);
  EXPECT_LT(found.largest, 3);
  EXPECT_LT(excess(found), 3);
  EXPECT_EQ(found.degrees, 15);
  EXPECT_LT(found.largest_error, 0.5);
}

/// By fluctuation and by the parabola through exact energies at three temperatures. What is exact comes from a transfer
/// matrix, too: c from second differences of ln Z.
TEST(Tempering, HasTheExactSpecificHeat) {
  Problem problem = words_of_one_sample(known[0].number);
  const auto engine = reference::make_simulation(problem, {});
  LadderBins bins(problem);
  for (int sweep = 0; sweep <= 512; sweep += 4) {
    bins.begin(sweep, engine->exchanges());
    const State state = engine->state();
    for (std::int64_t sample = 0; sample < problem.samples; ++sample)
      bins.add(sample, observe(state, sample, (*problem.given_couplings)[sample]));
    engine->advance(2 * 4);
  }
  const auto compare = [&](std::size_t t, std::string_view quantity, double exact) {
    const std::size_t number = std::ranges::find(ladder_names, quantity) - ladder_names.begin();
    const LadderAverages row = bins.rows()[bins.rows().size() - temperatures_of_ladder.size() + t];
    EXPECT_EQ(row.measurements, 64);
    const Average found = row.averages[number].value();
    EXPECT_LT(std::abs(found.value - exact), 3 * found.error.value()) << quantity << ' ' << t << ' ' << found.value;
    EXPECT_LT(found.error.value(), 0.01) << quantity << ' ' << t;
  };
  compare(1, "c", 0.22431);
  compare(2, "c", 0.35826);
  for (std::size_t t : {1, 2, 3}) {
    const auto b = [&](std::size_t i) { return 1 / temperatures_of_ladder[i]; };
    const auto slope = [&](std::size_t i) {
      return (known[0].energies[i + 1] - known[0].energies[i]) / 64 / (b(i + 1) - b(i));
    };
    const double bend = (slope(t) - slope(t - 1)) / (b(t + 1) - b(t - 1));
    compare(t, "c_derivative", -b(t) * b(t) * (slope(t - 1) + bend * (b(t) - b(t - 1))));
  }
}

TEST(Tempering, IsRejectedWithAMistake) {
  for (const Mistake mistake : {Mistake::sign_flipped, Mistake::factor_two, Mistake::energies_of_first_copy,
                                Mistake::one_decision, Mistake::stream_copied}) {
    // Equal draws let replicas become alike, so exchanges are accepted too often: less is wrong than otherwise.
    const auto samples = std::span(known).first(mistake == Mistake::stream_copied ? known.size() : 1);
    EXPECT_GT(excess(energies_of(mistake, samples)), 6) << "mistake " << static_cast<int>(mistake);
  }
}

TEST(Exchanging, WithoutAMistakeHasTheBitsOfTheReference) {
  Problem problem{.size = 4, .samples = 5, .replicas = 6, .samples_per_stream = 2, .seed = 11};
  problem.ladder = {{0.9, 1.3, 1.9}, 2};
  const auto reference = reference::make_simulation(problem, {});
  Exchanging own(problem, Mistake::none);
  for (int sweep = 0; sweep < 40; ++sweep) own.sweep();
  reference->advance(80);
  const State state = reference->state();
  for (std::int64_t lattice = 0; lattice < problem.samples * problem.replicas; ++lattice)
    EXPECT_THAT(own.spins()[lattice], testing::ElementsAreArray(state.of(lattice / 6, lattice % 6))) << lattice;
}

/// Thresholds are powers of exp(-4 (b_t - b_t+1)) to the last of their bits but a few.
TEST(ExchangeThresholds, AreBoltzmannFactors) {
  Problem problem{.size = 4, .replicas = 6};
  problem.ladder = {{0.1, 0.5, 0.7, 0.70001, 2, 1000}, 1};
  const ExchangeThresholds thresholds(problem);
  for (std::size_t t = 0; t < 5; ++t) {
    const long double unit =
        4.0L * (beta_of(problem, static_cast<std::int64_t>(t)) - beta_of(problem, static_cast<std::int64_t>(t) + 1));
    const std::int64_t count = thresholds.first[t + 1] - thresholds.first[t];
    for (std::int64_t m = 1; m <= count; ++m) {
      const long double factor = std::exp(-unit * static_cast<long double>(m));
      const long double found = std::ldexp(static_cast<long double>(thresholds.of[thresholds.first[t] + m - 1]), -64);
      EXPECT_NEAR(static_cast<double>(found - factor), 0, 1e-17) << t << ' ' << m;
    }
    EXPECT_TRUE(count == 96 || std::exp(-unit * static_cast<long double>(count + 1)) < 1e-18L) << t;
  }
  const ExchangeTable table{thresholds.of.data(), thresholds.first.data()};
  const std::uint64_t least = thresholds.of[thresholds.first[1]];
  EXPECT_TRUE(table.accepts(1, -100, -100, ~0ull));
  EXPECT_TRUE(table.accepts(1, -100, -96, least - 1));
  EXPECT_FALSE(table.accepts(1, -100, -96, least));
  EXPECT_FALSE(table.accepts(0, -192, 192, 0));  // not in the table
}

TEST(Walkers, CountTheirRoundTrips) {
  std::uint32_t walker = first_walker(2);
  for (const int t : {1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 1}) walker = arrived(walker, t, 4);
  EXPECT_EQ(round_trips(walker), 0);
  for (const int t : {0, 1, 2, 3, 2, 1, 0, 1, 0}) walker = arrived(walker, t, 4);
  EXPECT_EQ(round_trips(walker), 2);
  EXPECT_EQ(round_trips(arrived(first_walker(3), 0, 4)),
            0);  // one that begins at the warmest has not come from the coldest
}

/// The overlap's bonds and planes, by plain loops.
TEST(Ladders, ObserveTheField) {
  const Problem problem{.size = 6, .samples = 1, .replicas = 6};
  State state{6, 1, 6, {}, 2, {}};
  for (std::int64_t replica = 0; replica < 6; ++replica) {
    const std::vector<Spin> spins = start_spins(problem, 0, replica);
    state.spins.insert(state.spins.end(), spins.begin(), spins.end());
  }
  const SampleObservables found = observe(state, 0, sample_couplings(problem, 0));
  ASSERT_EQ(std::ssize(found.overlaps), overlaps(6, 2));
  std::size_t number = 0;
  for (const auto& [a, b] : {std::pair{0, 1}, {0, 2}, {1, 2}}) {
    for (int t = 0; t < 2; ++t, ++number) {
      const auto q = [&](int x, int y, int z) {
        const int s = x % 6 + 6 * (y % 6 + 6 * (z % 6));
        return state.of(0, 2 * a + t)[s] * state.of(0, 2 * b + t)[s];
      };
      std::int64_t overlap = 0, links = 0;
      std::vector<std::int64_t> planes(18);
      for (int x = 0; x < 6; ++x)
        for (int y = 0; y < 6; ++y)
          for (int z = 0; z < 6; ++z) {
            overlap += q(x, y, z);
            links += q(x, y, z) * (q(x + 1, y, z) + q(x, y + 1, z) + q(x, y, z + 1));
            for (const int plane : {x, 6 + y, 12 + z}) planes[plane] += q(x, y, z) < 0;
          }
      EXPECT_EQ(found.overlaps[number], overlap);
      EXPECT_EQ(found.links[number], links);
      EXPECT_THAT(std::vector(found.planes.begin() + 18 * number, found.planes.begin() + 18 * (number + 1)), planes);
    }
  }
}

}  // namespace
}  // namespace psflip::spin_glass
