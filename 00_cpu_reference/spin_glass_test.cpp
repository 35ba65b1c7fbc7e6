// Stage 00 has nobody to be compared with, so it is compared with facts: generators with their known answers, the
// problem's definition written a second time in another way, and exact averages (spin_glass/test/physics.hpp, which the
// shared test runs on every engine).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "00_cpu_reference/mt19937_history.hpp"
#include "00_cpu_reference/parisi_rapuano.hpp"
#include "00_cpu_reference/philox.hpp"
#include "00_cpu_reference/philox_planes.hpp"
#include "random/streams.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/test/engine_test.hpp"
#include "spin_glass/test/physics.hpp"

namespace psflip::spin_glass {

// ---- What the shared test asserts of this stage

bool promises(const Problem&, const Launch& launch, const std::string&) { return values_of(launch).empty(); }
bool promises(Generator generator, const std::string&) { return std::ranges::count(generators, generator) > 0; }
bool up_to_the_machine(const Launch&, const std::string&) { return false; }
int most_threads() { return 1024; }
Launch moving_launch() { return {}; }
double bytes_per_spin() { return 1; }
bool observes_on_the_device() { return false; }
std::vector<Refusal> refusals() { return {}; }

namespace {

using testing::ElementsAre;

// ---- Generators

reference::ParisiRapuano parisi_rapuano_from_minstd() {
  return reference::ParisiRapuano([engine = std::minstd_rand0(1)]() mutable { return engine(); });
}

TEST(ParisiRapuano, GivesTheKnownWords) {
  reference::ParisiRapuano engine = parisi_rapuano_from_minstd();
  std::vector<std::uint32_t> words(10'000);
  std::ranges::generate(words, std::ref(engine));
  EXPECT_THAT(std::vector(words.begin(), words.begin() + 4),
              ElementsAre(1725422658U, 3312017616U, 3842062065U, 2918707334U));
  EXPECT_EQ(words[99], 2857005463U);
  EXPECT_EQ(words[9999], 1431685353U);
}

/// How often the lowest bits obey b(k) = b(k - 24) ^ b(k - 55), which sums without their carries do.
template <class NextWord>
int lowest_bits_that_fit(NextWord next_word, int count) {
  std::vector<std::uint32_t> bits;
  int fitting = 0;
  while (static_cast<int>(bits.size()) < count + 55) {
    bits.push_back(next_word() & 1);
    const std::size_t k = bits.size() - 1;
    if (k >= 55) {
      fitting += bits[k] == (bits[k - 24] ^ bits[k - 55]) ? 1 : 0;
    }
  }
  return fitting;
}

TEST(ParisiRapuano, StoresTheSumAndNotTheOutput) {
  const int count = 5000;
  // The first 61 outputs still mix the history in.
  reference::ParisiRapuano engine = parisi_rapuano_from_minstd();
  for (int i = 0; i < 61; ++i) {
    engine();
  }
  EXPECT_EQ(lowest_bits_that_fit(engine, count), count);

  // The variant of the GTC 2015 poster is another generator.
  std::vector<std::uint32_t> wheel;
  for (std::minstd_rand0 filling(1); wheel.size() < 61;) {
    wheel.push_back(filling());
  }
  const auto poster = [&] {
    const std::size_t k = wheel.size();
    wheel.push_back((wheel[k - 24] + wheel[k - 55]) ^ wheel[k - 61]);
    return wheel.back();
  };
  EXPECT_EQ(poster(), 1725422658U);  // the first words are the same
  for (int i = 1; i < 61; ++i) {
    poster();
  }
  EXPECT_LT(lowest_bits_that_fit(poster, count), 0.6 * count);
}

TEST(Philox, GivesTheVectorsOfItsAuthors) {
  using reference::philox4x32_10;
  const std::uint32_t ones = 0xffffffff;
  EXPECT_THAT(philox4x32_10({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

// ---- Draws for words of sites

using reference::PhiloxPlanes;

/// (x - N p)^2 / (N p (1 - p)) of x draws of N that accept, summed over thresholds with few bits and with many, and how
/// many of these there are. Draws are of all bits of some words.
template <class Accepts>
std::pair<double, int> chi_squared_of_acceptance(Accepts accepts) {
  const std::vector<std::uint32_t> thresholds = {
      1U << 31,   1U << 30,   3U << 28,   1U << 26,   1U << 24,   1U << 23,   3U << 21,   1U << 20,   0xffffffff,
      0x7fffffff, 0x55555555, 0xaaaaaaab, 0x06bead5f, 0x01ffffff, 0x00ffffff, 0x00d6a3c7, 0x007ffffe, 0x002d7f03};
  std::vector<double> accepting(thresholds.size());
  double all = 0;
  const PhiloxPlanes draws{.seed = 42, .sample = 3};
  for (std::uint32_t word = 0; word < 4096; ++word) {
    for (int bit = 0; bit < 32; ++bit, ++all) {
      const std::uint32_t draw = draws.draw({word, bit}, word % 5, 7);
      for (std::size_t i = 0; i < thresholds.size(); ++i) accepting[i] += accepts(draw, thresholds[i]);
    }
  }
  double sum = 0;
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const double p = std::ldexp(thresholds[i], -32), expected = all * p;
    sum += (accepting[i] - expected) * (accepting[i] - expected) / (expected * (1 - p) + 1e-3);
  }
  return {sum, static_cast<int>(thresholds.size())};
}

TEST(PhiloxPlanes, AcceptWithTheProbabilityOfTheThreshold) {
  const auto [right, degrees] = chi_squared_of_acceptance(PhiloxPlanes::accepts);
  // They share their draws, so this is not quite the chi-squared of so many numbers; it is far below the mistakes.
  const double limit = 3 * degrees;
  EXPECT_LT(right, limit);
  const auto wrong = [&](auto accepts) { return chi_squared_of_acceptance(accepts).first; };
  EXPECT_GT(wrong([](std::uint32_t draw, std::uint32_t threshold) {  // without the other 24 bits
              return draw >> 24 != 0 && PhiloxPlanes::accepts(draw, threshold);
            }),
            10 * limit);
  EXPECT_GT(wrong([](std::uint32_t draw, std::uint32_t threshold) {  // one bit too far
              return draw >> 24 != 0 ? threshold << std::countl_zero(draw) >> 30 & 1 : draw < (threshold & 0xffffff);
            }),
            10 * limit);
  EXPECT_GT(wrong([](std::uint32_t draw, std::uint32_t threshold) {  // all that have no 1 in the planes
              return draw >> 24 == 0 || PhiloxPlanes::accepts(draw, threshold);
            }),
            10 * limit);
}

/// Sites of a word, words, replicas, samples, sweeps and seeds say nothing about each other, in the planes nor beyond.
TEST(PhiloxPlanes, HaveDrawsThatAreIndependent) {
  const auto draw = [](std::uint64_t seed, std::uint32_t sample, std::uint32_t word, int bit, std::uint32_t replica,
                       std::uint32_t sweep) {
    return PhiloxPlanes{seed, sample}.draw({word, bit}, replica, sweep);
  };
  const auto agreeing_bits = [&](auto other) {  // of the eight
    double agreeing = 0;
    for (std::uint32_t i = 0; i < 4096; ++i) agreeing += std::popcount(~(draw(1, 2, i, 3, 4, 5) ^ other(i)) >> 24);
    return (agreeing - 4 * 4096) / std::sqrt(2 * 4096);  // in standard deviations
  };
  EXPECT_LT(std::abs(agreeing_bits([&](std::uint32_t i) { return draw(2, 2, i, 3, 4, 5); })), 4) << "seeds";
  EXPECT_LT(std::abs(agreeing_bits([&](std::uint32_t i) { return draw(1, 3, i, 3, 4, 5); })), 4) << "samples";
  EXPECT_LT(std::abs(agreeing_bits([&](std::uint32_t i) { return draw(1, 2, i + 1, 3, 4, 5); })), 4) << "words";
  EXPECT_LT(std::abs(agreeing_bits([&](std::uint32_t i) { return draw(1, 2, i, 4, 4, 5); })), 4) << "bits";
  EXPECT_LT(std::abs(agreeing_bits([&](std::uint32_t i) { return draw(1, 2, i, 3, 5, 5); })), 4) << "replicas";
  EXPECT_LT(std::abs(agreeing_bits([&](std::uint32_t i) { return draw(1, 2, i, 3, 4, 6); })), 4) << "sweeps";

  std::vector<std::uint32_t> tails;
  for (std::uint32_t word = 0; word < 512; ++word)
    for (std::uint32_t sample : {0U, 1U})
      for (std::uint32_t replica : {0U, 1U, 4U})
        for (int bit = 0; bit < 32; ++bit)
          if (const std::uint32_t found = draw(1, sample, word, bit, replica, 5); found >> 24 == 0)
            tails.push_back(found);
  EXPECT_NEAR(static_cast<double>(tails.size()), 384, 5 * std::sqrt(384));  // one of 256
  std::ranges::sort(tails);
  EXPECT_EQ(std::ranges::adjacent_find(tails), tails.end()) << "two sites share their other 24 bits";
}

TEST(StandardEngines, GiveTheKnownWords) {
  std::minstd_rand0 minstd(1);
  std::mt19937 mt19937(5489);
  EXPECT_EQ(minstd(), 16807U);
  EXPECT_EQ(mt19937(), 3499211612U);
  minstd.discard(9998);
  mt19937.discard(9998);
  EXPECT_EQ(minstd(), 1043618065U);
  EXPECT_EQ(mt19937(), 4123659995U);
}

/// How MT19937 makes a number of a word of its sequence.
std::uint32_t tempered(std::uint32_t word) {
  word ^= word >> 11;
  word ^= word << 7 & 0x9d2c5680;
  word ^= word << 15 & 0xefc60000;
  return word ^ word >> 18;
}

TEST(StandardEngines, HaveTheHistoryOfMt19937) {
  std::mt19937 engine(5489);
  const std::vector<std::uint32_t> seed = reference::history_of(engine);
  EXPECT_EQ(seed[0], 5489U);  // its first words: s, then 1812433253 (s ^ (s >> 30)) + 1
  EXPECT_EQ(seed[1], 1301868182U);
  std::vector<std::uint32_t> words = seed;  // of the sequence: the seed's, then those that numbers were made of
  for (const int more : {0, 1, 1, 225, 397, 623, 1, 1, 5000}) {
    for (int i = 0; i < more; ++i) {
      const std::uint32_t number = engine();
      const std::size_t n = words.size() - 624;
      const std::uint32_t joined = (words[n] & 0x80000000) | (words[n + 1] & 0x7fffffff);
      words.push_back(words[n + 397] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0df : 0));
      ASSERT_EQ(tempered(words.back()), number);
    }
    const std::vector<std::uint32_t> history = reference::history_of(engine);
    EXPECT_TRUE(std::ranges::equal(history, std::span(words).last(624))) << words.size() - 624 << " numbers";
    std::mt19937 other = reference::with_history(history), same = engine;
    for (int i = 0; i < 2000; ++i) {
      ASSERT_EQ(other(), same());
    }
  }
}

// ---- The definition of the problem a second time. Spins are looked up by their coordinates, bonds by their ends,
// draws by their number in a sequence that is computed from its beginning whenever one is needed.

using Point = std::array<std::int64_t, 3>;

/// SplitMix64 with the published constants.
std::uint64_t splitmix(std::uint64_t state) {
  state += 0x9E3779B97F4A7C15;
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EB;
  return state ^ (state >> 31);
}
std::uint64_t hashed(std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t word = 0;
  for (const std::uint64_t number : numbers) {
    word = splitmix(word + number);
  }
  return word;
}

/// Number n of the stream of a site.
std::uint32_t draw_number(std::int64_t n, const Problem& problem, std::int64_t group, std::int64_t site) {
  const std::uint64_t seed =
      hashed({problem.seed, 0, static_cast<std::uint64_t>(group), static_cast<std::uint64_t>(site)});
  if (problem.generator == Generator::minstd) {
    std::uint64_t state = 1 + seed % 2147483646;
    for (std::int64_t i = 0; i <= n; ++i) {
      state = state * 16807 % 2147483647;
    }
    return static_cast<std::uint32_t>(state - 1);
  }
  if (problem.generator == Generator::mt19937) {
    std::mt19937 engine(static_cast<std::uint32_t>(seed & 0xffffffff));
    engine.discard(n);
    return engine();
  }
  if (problem.generator == Generator::parisi_rapuano) {
    std::vector<std::uint32_t> wheel;
    for (std::uint64_t i = 0; i < 61; ++i) {
      wheel.push_back(static_cast<std::uint32_t>(splitmix(seed + i * 0x9E3779B97F4A7C15) >> 32));
    }
    for (std::int64_t i = 0; i <= n; ++i) {
      wheel.push_back(wheel[wheel.size() - 24] + wheel[wheel.size() - 55]);
    }
    return wheel.back() ^ wheel[wheel.size() - 1 - 61];
  }
  return reference::philox4x32_10(
      {static_cast<std::uint32_t>(site), static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(n / 4), 0},
      {static_cast<std::uint32_t>(problem.seed), static_cast<std::uint32_t>(problem.seed >> 32)})[n % 4];
}

/// The same of philox-planes: the draws of all bits of a word.
std::vector<std::uint32_t> draws_of_word(const Problem& problem, std::uint32_t word, std::uint32_t sample,
                                         std::uint32_t replica, std::uint32_t sweep) {
  const auto p = [&](std::uint32_t i, std::uint32_t n) {
    return reference::philox4x32_10({word, i, sweep, n}, {static_cast<std::uint32_t>(problem.seed),
                                                          static_cast<std::uint32_t>(problem.seed >> 32)});
  };
  std::vector<std::uint32_t> draws(32);
  for (std::uint32_t n = 0; n < 8; ++n) {
    const std::uint32_t plane = p(replica, 32 * sample + n / 4)[n % 4];
    for (std::size_t bit = 0; bit < 32; ++bit) draws[bit] |= (plane >> bit & 1) << (31 - n);
  }
  std::uint32_t zeros = 0;
  for (std::uint32_t& draw : draws)
    if (draw == 0) draw = p(replica / 4, 0x80000000 + 32 * sample + zeros++)[replica % 4] >> 8;
  return draws;
}

/// [site]: its word and its bit.
std::vector<std::pair<std::uint32_t, std::size_t>> words_of_sites(std::int64_t size) {
  std::int64_t bits = 1;
  for (std::int64_t b = 1; b <= 32; ++b)
    if (size % b == 0) bits = b;
  const std::int64_t m = size / bits, reds = m * size * size / 2;
  std::vector<std::pair<std::uint32_t, std::size_t>> words(static_cast<std::size_t>(size * size * size));
  for (std::int64_t w = 0; w < 2 * reds; ++w) {
    const std::int64_t of_colour = w % reds, sliced_z = 2 * (of_colour / (m * size)) + w / reds;
    for (std::int64_t bit = 0; bit < bits; ++bit) {
      const std::int64_t x = bit * m + of_colour % m, y = (of_colour / m + x) % size,
                         z = (sliced_z - x + y + size) % size;
      words[static_cast<std::size_t>(x + size * (y + size * z))] = {static_cast<std::uint32_t>(w),
                                                                    static_cast<std::size_t>(bit)};
    }
  }
  return words;
}

/// Whether a draw of philox-planes accepts: the threshold in binary is 0.b0 b1 b2 ... of 2^32.
bool accepted_in_planes(std::uint32_t draw, std::uint32_t threshold) {
  for (int n = 0; n < 8; ++n)
    if (draw >> (31 - n) & 1) return threshold >> (31 - n) & 1;
  return draw < threshold % (1 << 24);
}

class ByDefinition {
 public:
  explicit ByDefinition(const Problem& problem) : problem_(problem) {
    for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
      for (std::int64_t replica = 0; replica < problem.replicas; ++replica) {
        for (const Point& site : sites_in_order()) {
          spins_[sample][replica][site] = start(sample, replica, site);
        }
        if (problem.ladder) {
          exchanges_.accepted.push_back(0);
          exchanges_.walkers.push_back(replica % temperatures() == 0 ? 1 : 0);
        }
      }
    }
  }

  void sweep_half(std::int64_t half_sweep) {
    for (std::int64_t sample = 0; sample < problem_.samples; ++sample) {
      for (std::int64_t replica = 0; replica < problem_.replicas; ++replica) {
        std::map<Point, int>& spins = spins_[sample][replica];
        const std::map<Point, int> before = spins;
        for (const auto& [site, spin] : before) {
          if ((site[0] + site[1] + site[2] + half_sweep) % 2 == 0) {
            spins[site] = new_spin(sample, replica, half_sweep / 2, site, before);
          }
        }
      }
    }
    const std::int64_t every = 2 * problem_.ladder.exchange_every;
    if (problem_.ladder && (half_sweep + 1) % every == 0) exchange((half_sweep + 1) / every - 1);
  }

  State state() const {
    State state{problem_.size, problem_.samples, problem_.replicas, {}, temperatures(), exchanges_};
    for (const auto& [sample, replicas] : spins_) {
      for (const auto& [replica, spins] : replicas) {
        for (const Point& site : sites_in_order()) {
          state.spins.push_back(static_cast<Spin>(spins.at(site)));
        }
      }
    }
    return state;
  }

 private:
  std::int64_t temperatures() const { return std::max<std::int64_t>(1, std::ssize(problem_.ladder.temperatures)); }

  /// Every pair that can be, and whether it is its turn.
  void exchange(std::int64_t e) {
    const auto& T = problem_.ladder.temperatures;
    for (auto& [sample, replicas] : spins_) {
      for (std::int64_t warmer = 1; warmer < problem_.replicas; ++warmer) {
        const std::int64_t colder = warmer - 1, t = colder % temperatures();
        if (warmer % temperatures() == 0 || (t + e) % 2 != 0) continue;
        const int loss = whole_energy(sample, colder) - whole_energy(sample, warmer);
        const auto lattice = static_cast<std::uint64_t>(sample * problem_.replicas + colder);
        const std::uint64_t word = hashed({problem_.seed, 8, lattice, static_cast<std::uint64_t>(e)});
        const double probability = std::exp((1 / T[t] - 1 / T[t + 1]) * loss);
        if (std::ldexp(static_cast<double>(word), -64) >= probability) continue;
        std::swap(replicas.at(colder), replicas.at(warmer));
        ++exchanges_.accepted[lattice];
        auto& walkers = exchanges_.walkers;
        std::swap(walkers[lattice], walkers[lattice + 1]);
        if (t == 0) walkers[lattice] = walkers[lattice] % 4 == 2 ? walkers[lattice] + 3 : walkers[lattice] / 4 * 4 + 1;
        if (t + 2 == temperatures() && walkers[lattice + 1] % 4 == 1) ++walkers[lattice + 1];
      }
    }
  }

  int whole_energy(std::int64_t sample, std::int64_t replica) const {
    const std::map<Point, int>& spins = spins_.at(sample).at(replica);
    int twice = 0;
    for (const auto& [site, spin] : spins) twice += energy(sample, site, spin, spins);
    return twice / 2;
  }

  std::uint64_t number(const Point& site) const {
    return static_cast<std::uint64_t>(site[0] + problem_.size * site[1] + problem_.size * problem_.size * site[2]);
  }

  std::vector<Point> sites_in_order() const {
    std::vector<Point> sites;
    for (std::int64_t z = 0; z < problem_.size; ++z) {
      for (std::int64_t y = 0; y < problem_.size; ++y) {
        for (std::int64_t x = 0; x < problem_.size; ++x) {
          sites.push_back({x, y, z});
        }
      }
    }
    return sites;
  }

  int start(std::int64_t sample, std::int64_t replica, const Point& site) const {
    if (problem_.start == Start::ordered) {
      return 1;
    }
    const std::uint64_t word = hashed(
        {problem_.seed, 2, static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(replica), number(site)});
    return word >= std::uint64_t{1} << 63 ? 1 : -1;
  }

  /// J of the bond from a site in direction +axis.
  int coupling(std::int64_t sample, const Point& site, std::uint64_t axis) const {
    if (problem_.given_couplings) {
      return (*problem_.given_couplings)[sample][3 * number(site) + axis];
    }
    const std::uint64_t word = hashed({problem_.seed, 1, static_cast<std::uint64_t>(sample), 3 * number(site) + axis});
    return std::ldexp(static_cast<double>(word >> 11), -53) < problem_.ferromagnetic_fraction ? 1 : -1;
  }

  /// - sum of J s s' over the six bonds of a site, were its spin the given one.
  int energy(std::int64_t sample, const Point& site, int spin, const std::map<Point, int>& spins) const {
    int energy = 0;
    for (std::uint64_t axis = 0; axis < 3; ++axis) {
      Point forward = site, backward = site;
      forward[axis] = (site[axis] + 1) % problem_.size;
      backward[axis] = (site[axis] + problem_.size - 1) % problem_.size;
      energy -= coupling(sample, site, axis) * spin * spins.at(forward);
      energy -= coupling(sample, backward, axis) * spin * spins.at(backward);
    }
    return energy;
  }

  int new_spin(std::int64_t sample, std::int64_t replica, std::int64_t sweep, const Point& site,
               const std::map<Point, int>& spins) const {
    const int old = spins.at(site);
    const int cost = energy(sample, site, -old, spins) - energy(sample, site, old, spins);
    if (cost <= 0) {
      return -old;
    }
    const double beta = problem_.ladder ? 1 / problem_.ladder.temperatures[replica % temperatures()] : problem_.beta;
    const double values = problem_.generator == Generator::minstd ? 2147483646.0 : 4294967296.0;
    const double threshold = std::min(std::floor(std::exp(-beta * cost) * values), 4294967295.0);
    if (problem_.generator == Generator::philox_planes) {
      const auto [word, bit] = words_of_sites(problem_.size)[number(site)];
      const std::uint32_t draw =
          draws_of_word(problem_, word, static_cast<std::uint32_t>(sample), static_cast<std::uint32_t>(replica),
                        static_cast<std::uint32_t>(sweep))[bit];
      return accepted_in_planes(draw, static_cast<std::uint32_t>(threshold)) ? -old : old;
    }
    const std::int64_t group = sample / problem_.samples_per_stream;
    const std::uint32_t draw =
        draw_number(sweep * problem_.replicas + replica, problem_, group, static_cast<std::int64_t>(number(site)));
    return draw < threshold ? -old : old;
  }

  Problem problem_;
  std::map<std::int64_t, std::map<std::int64_t, std::map<Point, int>>> spins_;  ///< [sample][replica][site]
  Exchanges exchanges_;
};

void expect_bits_by_definition(const Problem& problem, int half_sweeps) {
  const auto simulation = reference::make_simulation(problem, {});
  ByDefinition expected(problem);
  EXPECT_EQ(simulation->state(), expected.state()) << "at the start";
  for (int half_sweep = 0; half_sweep < half_sweeps; ++half_sweep) {
    simulation->advance(1);
    expected.sweep_half(half_sweep);
    ASSERT_EQ(simulation->state(), expected.state()) << "after half-sweep " << half_sweep;
  }
}

class Reference : public testing::TestWithParam<Generator> {};

TEST_P(Reference, HasTheBitsOfTheDefinition) {
  Problem problem{.size = 4, .beta = 0.6, .samples = 3, .replicas = 2, .samples_per_stream = 2};
  problem = with_generator(problem, GetParam());
  problem.seed = 0x123456789abcdef0;
  expect_bits_by_definition(problem, 12);

  problem.replicas = 3;  // draws number 3, 6, ... begin in the middle of a Philox block
  problem.samples_per_stream = 1;
  problem.start = Start::ordered;
  problem.ferromagnetic_fraction = 0.8;
  expect_bits_by_definition(problem, 9);
}

TEST_P(Reference, HasTheBitsOfTheDefinitionOnALatticeThatIsNoPowerOfTwo) {
  Problem problem{.size = 6, .beta = 1, .samples = 2, .replicas = 1, .samples_per_stream = 32};
  problem = with_generator(problem, GetParam());
  std::vector<std::vector<Coupling>> couplings(2, std::vector<Coupling>(3 * 216));
  std::mt19937 engine(1);
  for (std::vector<Coupling>& sample : couplings) {
    std::ranges::generate(sample, [&] { return static_cast<Coupling>(engine() % 2 == 0 ? 1 : -1); });
  }
  problem.given_couplings = std::make_shared<const std::vector<std::vector<Coupling>>>(couplings);
  expect_bits_by_definition(problem, 5);
}

TEST_P(Reference, HasTheExchangesOfTheDefinition) {
  if (GetParam() == Generator::philox_planes) return;  // it has no ladders
  Problem problem{.size = 4, .samples = 3, .replicas = 6, .samples_per_stream = 2};
  problem.generator = GetParam();
  problem.ladder = {{0.8, 1.0, 1.5}, 2};
  expect_bits_by_definition(problem, 33);
  problem.ladder = {{1.4, 2.0}, 1};  // nobody is in the middle, and half of the exchanges have no pair
  problem.replicas = 4;
  expect_bits_by_definition(problem, 24);
}

/// The shared test does all checks with MINSTD. Other generators have other thresholds.
TEST_P(Reference, ObeysPhysicsWithEveryGenerator) {
  const auto make = [](const Problem& original) {
    const Problem problem = with_generator(original, GetParam());
    return reference::make_simulation(problem, {});
  };
  for (const PhysicsCheck& check : physics_checks()) {
    if (check.name == "exact-samples" || check.name == "nishimori-overlap") {
      for (const Measurement& measurement : check.run(make, Effort::quick)) {
        EXPECT_TRUE(measurement.agrees()) << check.name << ": " << text(measurement);
      }
    }
  }
}

TEST_P(Reference, HasItsOwnBitsForEveryGenerator) {
  Problem problem{.size = 4, .samples = 1, .replicas = 1};
  std::vector<State> states;
  for (const Generator generator : {GetParam(), Generator::minstd, Generator::philox}) {
    const auto simulation = reference::make_simulation(with_generator(problem, generator), {});
    simulation->advance(20);
    states.push_back(simulation->state());
  }
  EXPECT_EQ(states[0] == states[1], GetParam() == Generator::minstd);
  EXPECT_EQ(states[0] == states[2], GetParam() == Generator::philox);
}

INSTANTIATE_TEST_SUITE_P(AllGenerators, Reference, testing::ValuesIn(generators), [](const auto& tested) {
  std::string text(name(tested.param));
  std::erase(text, '-');
  return text;
});

// ---- What a problem is made of

TEST(Problem, HasTheThresholdsOfTheBoltzmannFactors) {
  // exp(-12 beta) = 1/8, so exp(-8 beta) = 1/4, exp(-4 beta) = 1/2.
  const Thresholds halves = thresholds(std::log(2.0) / 4 * (1 - 1e-15), Generator::philox);
  EXPECT_THAT(halves.of, ElementsAre(1U << 29, 1U << 30, 1U << 31));
  const Thresholds of_minstd = thresholds(std::log(2.0) / 4 * (1 - 1e-15), Generator::minstd);
  EXPECT_THAT(of_minstd.of, ElementsAre(0x7ffffffeU / 8, 0x7ffffffeU / 4, 0x7ffffffeU / 2));
  EXPECT_THAT(thresholds(0, Generator::minstd).of, ElementsAre(0x7ffffffeU, 0x7ffffffeU, 0x7ffffffeU));
  EXPECT_THAT(thresholds(0, Generator::mt19937).of, ElementsAre(~0U, ~0U, ~0U));  // 2^32 does not fit
  EXPECT_THAT(thresholds(1000, Generator::philox).of, ElementsAre(0U, 0U, 0U));
}

TEST(Problem, HasAsManyPositiveCouplingsAndSpinsAsItShould) {
  Problem problem{.size = 40, .samples = 3, .replicas = 2};
  for (const double p : {0.0, 0.25, 0.5, 1.0}) {
    problem.ferromagnetic_fraction = p;
    for (std::int64_t sample = 0; sample < 3; ++sample) {
      const auto couplings = sample_couplings(problem, sample);
      const auto count = static_cast<double>(couplings.size());
      const auto positive = static_cast<double>(std::ranges::count(couplings, 1));
      EXPECT_NEAR(positive, p * count, 4.5 * std::sqrt(p * (1 - p) * count)) << "p = " << p << ", sample " << sample;
    }
  }
  const auto spins = start_spins(problem, 1, 1);
  const auto count = static_cast<double>(spins.size());
  EXPECT_NEAR(static_cast<double>(std::ranges::count(spins, 1)), count / 2, 4.5 * std::sqrt(count / 4));
}

TEST(Problem, HasStartsAndCouplingsThatAreIndependent) {
  // Spins of two replicas, of two samples, of two seeds, couplings of two samples, spins and couplings: they agree in
  // half of the places.
  Problem problem{.size = 20, .samples = 2, .replicas = 2};
  Problem other = problem;
  other.seed = problem.seed + 1;
  const auto agreeing = [](const std::vector<Spin>& one, const std::vector<Spin>& two) {
    int count = 0;
    for (std::size_t i = 0; i < one.size() && i < two.size(); ++i) {
      count += one[i] == two[i] ? 1 : 0;
    }
    return count;
  };
  const auto spins = start_spins(problem, 0, 0);
  const auto couplings = sample_couplings(problem, 0);
  const double tolerance = 4.5 * std::sqrt(8000 / 4.0);
  EXPECT_NEAR(agreeing(spins, start_spins(problem, 0, 1)), 4000, tolerance);
  EXPECT_NEAR(agreeing(spins, start_spins(problem, 1, 0)), 4000, tolerance);
  EXPECT_NEAR(agreeing(spins, start_spins(other, 0, 0)), 4000, tolerance);
  EXPECT_NEAR(agreeing(spins, couplings), 4000, tolerance);
  EXPECT_NEAR(agreeing(couplings, sample_couplings(problem, 1)), 12'000, std::sqrt(3.0) * tolerance);
  EXPECT_NEAR(agreeing(couplings, sample_couplings(other, 0)), 12'000, std::sqrt(3.0) * tolerance);
}

}  // namespace
}  // namespace psflip::spin_glass
