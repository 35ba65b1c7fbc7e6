// What the physics checks are worth: engines with one mistake each, of the kind that people make. The table `cases`
// says which checks reject it, and so which do not; both are worth reading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "random/minstd.hpp"
#include "random/streams.hpp"
#include "spin_glass/test/physics.hpp"

namespace psflip::spin_glass {
namespace {

enum class Mistake {
  none,
  wrong_sign,                 ///< H = + sum J s s'
  thresholds_for_32_bits,     ///< exp(-beta dE) 2^32, though MINSTD draws 31 bits
  half_the_cost,              ///< dE = 12 - 2u
  zero_cost_refused,          ///< dE < 0 where dE <= 0 is meant, and no draw for dE = 0
  one_draw_for_all_replicas,  ///< instead of one for each
  streams_not_stored,         ///< every sweep begins with the same draws
  consecutive_seeds,          ///< stream number i starts from MINSTD state i + 1, not from a hash
  own_couplings_only,         ///< J_d(s) also for the bond in direction -d
  couplings_of_first_sample,  ///< the index lacks the sample's offset
  no_wrap,                    ///< s + 1, s + L, s + L^2, also at the edges
  all_sites_at_once,          ///< blue sites see the red spins as they were before the sweep
  blue_first,                 ///< the colours in the wrong order
  red_formulas_sliced,        ///< blue neighbours by the red formulas of the sliced layout
  red_formulas_standard,      ///< and of the standard layout
};

/// One bond of a site: where it leads, and which coupling it has.
struct Bond {
  std::int32_t neighbour;
  std::int32_t coupling;  ///< 3 s + d
};

/// The lattice as lists of bonds, six a site in the order +x, -x, +y, -y, +z, -z, right or with a mistake.
class Bonds {
 public:
  Bonds(int size, Mistake mistake) : size_(size), sites_(size * size * size), of_(sites_) {
    for (int s = 0; s < sites_; ++s) {
      sites_of_[(s % size + s / size % size + s / (size * size)) % 2].push_back(s);
      for (int axis = 0; axis < 3; ++axis) {
        const int plus = step(s, axis, 1, mistake), minus = step(s, axis, -1, mistake);
        of_[s][2 * axis] = {plus, 3 * s + axis};
        of_[s][2 * axis + 1] = {minus, 3 * (mistake == Mistake::own_couplings_only ? s : minus) + axis};
      }
    }
    if (mistake == Mistake::red_formulas_sliced) {
      use_red_formulas_of_sliced();
    }
    if (mistake == Mistake::red_formulas_standard) {
      use_red_formulas_of_standard();
    }
  }

  const std::array<Bond, 6>& of(int s) const { return of_[s]; }
  const std::vector<int>& sites(bool blue) const { return sites_of_[blue]; }

 private:
  int step(int s, int axis, int by, Mistake mistake) const {
    const int stride = axis == 0 ? 1 : axis == 1 ? size_ : size_ * size_;
    if (mistake == Mistake::no_wrap) {
      return (s + by * stride + sites_) % sites_;  // only so that the array is not left
    }
    const int coordinate = s / stride % size_;
    return s + ((coordinate + by + size_) % size_ - coordinate) * stride;
  }

  // The formulas of Lulli, Bernaschi, Parisi (arXiv:1411.0127) for red sites, with the index of a blue one. A bond's
  // coupling lies with the red site that it is taken for, in the opposite direction.
  void use_red_formulas_of_sliced() {
    const int L = size_, A = L * L, planes = L / 2;
    std::vector<int> red_site(sites_ / 2), blue_site(sites_ / 2);
    for (int s = 0; s < sites_; ++s) {
      const int x = s % L, y = s / L % L, z = s / A;
      const int y1 = (y - x + L) % L, z1 = (x - y + z + L) % L;
      (z1 % 2 == 0 ? red_site : blue_site)[x + L * y1 + A * (z1 / 2)] = s;
    }
    for (int i = 0; i < sites_ / 2; ++i) {
      const int x = i % L, y = i / L % L, z = i / A;
      const int spz = i, smz = i + ((z - 1 + planes) % planes - z) * A;
      const int spy = smz + ((y + 1) % L - y) * L, smy = i + ((y - 1 + L) % L - y) * L;
      const int smx = spy - x + (x - 1 + L) % L, spx = smy - x + (x + 1) % L;
      const int six[] = {spx, smx, spy, smy, spz, smz};
      const std::vector<std::array<Bond, 6>> right = of_;
      for (int d = 0; d < 6; ++d) {
        of_[blue_site[i]][d] = {red_site[six[d]], right[red_site[six[d]]][d ^ 1].coupling};
      }
    }
  }

  void use_red_formulas_of_standard() {
    const int L = size_, half = L / 2;
    for (const int s : sites_of_[1]) {
      const int x = s % L / 2, y = s / L % L, z = s / (L * L), odd = (y ^ z) & 1;
      const int spx = (x + odd) % half, smx = (x - 1 + odd + half) % half;
      const int row = s - s % L;
      of_[s][0].neighbour = row + 2 * spx + odd;
      of_[s][1].neighbour = row + 2 * smx + odd;
    }
  }

  int size_, sites_;
  std::vector<int> sites_of_[2];  ///< red, blue
  std::vector<std::array<Bond, 6>> of_;
};

/// A Metropolis of its own for MINSTD, sample by sample, from lists of bonds. Without a mistake it has the bits of all.
class Mistaken : public Simulation {
 public:
  Mistaken(const Problem& problem, Mistake mistake)
      : problem_(problem), mistake_(mistake), bonds_(static_cast<int>(problem.size), mistake) {
    for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
      couplings_.push_back(sample_couplings(problem, mistake == Mistake::couplings_of_first_sample ? 0 : sample));
    }
    for (int unsatisfied = 0; unsatisfied <= 6; ++unsatisfied) {
      const int u = mistake == Mistake::wrong_sign ? 6 - unsatisfied : unsatisfied;
      const double cost = mistake == Mistake::half_the_cost ? 12 - 2 * u : 12 - 4 * u;
      const double values = mistake == Mistake::thresholds_for_32_bits ? 0x1p32 : 0x1p31 - 2;
      accept_below_[unsatisfied] =
          static_cast<std::uint32_t>(std::min(std::floor(std::exp(-problem.beta * cost) * values), 0x1p32 - 1));
    }
    if (mistake == Mistake::zero_cost_refused) {
      accept_below_[3] = 0;
    }
    restart();
  }

  void restart() override {
    spins_.clear();
    streams_.clear();
    for (std::int64_t sample = 0; sample < problem_.samples; ++sample) {
      const std::int64_t group = sample / problem_.samples_per_stream;
      for (std::int64_t replica = 0; replica < problem_.replicas; ++replica) {
        spins_.push_back(start_spins(problem_, sample, replica));
      }
      std::vector<Minstd> streams;
      for (std::int64_t s = 0; s < sites(problem_); ++s) {
        const bool consecutive = mistake_ == Mistake::consecutive_seeds;
        streams.push_back(
            Minstd::seeded(consecutive ? s + group * sites(problem_) : stream_seed(problem_.seed, group, s)));
      }
      streams_.push_back(streams);
    }
    seen_ = spins_;
    second_half_ = false;
    half_sweeps_ = 0;
  }

  double advance(std::int64_t half_sweeps) override {
    half_sweeps_ += half_sweeps;
    for (; half_sweeps > 0; --half_sweeps) {
      const bool blue = second_half_ != (mistake_ == Mistake::blue_first);
      for (std::int64_t sample = 0; sample < problem_.samples; ++sample) {
        update(sample, blue);
      }
      second_half_ = !second_half_;
    }
    return 0;
  }

  std::int64_t half_sweeps() const override { return half_sweeps_; }

  State state() const override {
    State state{problem_.size, problem_.samples, problem_.replicas, {}};
    for (const std::vector<Spin>& lattice : spins_) {
      state.spins.insert(state.spins.end(), lattice.begin(), lattice.end());
    }
    return state;
  }

  Launch launch() const override { return {}; }
  double bytes_per_flip() const override { return 0; }

 private:
  /// Updates one colour. A site takes one number from its stream for each replica.
  void update(std::int64_t sample, bool blue) {
    const std::vector<Coupling>& couplings = couplings_[sample];
    for (std::int64_t replica = 0; replica < problem_.replicas; ++replica) {
      // What the sites see of each other. Sites of a colour are no neighbours, so a copy changes nothing unless there
      // is a mistake: bonds that lead to the same colour, or a copy from before the sweep.
      const std::int64_t lattice = sample * problem_.replicas + replica;
      if (!second_half_ || mistake_ != Mistake::all_sites_at_once) {
        seen_[lattice] = spins_[lattice];
      }
    }
    for (const int s : bonds_.sites(blue)) {
      Minstd stream = streams_[sample][s];
      std::uint32_t draw = 0;
      for (std::int64_t replica = 0; replica < problem_.replicas; ++replica) {
        if (replica == 0 || mistake_ != Mistake::one_draw_for_all_replicas) {
          draw = stream.draw();
        }
        const std::int64_t lattice = sample * problem_.replicas + replica;
        Spin& spin = spins_[lattice][s];
        int unsatisfied = 0;
        for (const Bond& bond : bonds_.of(s)) {
          unsatisfied += spin * seen_[lattice][bond.neighbour] * couplings[bond.coupling] < 0 ? 1 : 0;
        }
        if (draw < accept_below_[unsatisfied]) {
          spin = static_cast<Spin>(-spin);
        }
      }
      if (mistake_ != Mistake::streams_not_stored) {
        streams_[sample][s] = stream;
      }
    }
  }

  Problem problem_;
  Mistake mistake_;
  Bonds bonds_;
  std::array<std::uint32_t, 7> accept_below_{};   ///< a draw less than element u flips a spin with u unsatisfied bonds
  std::vector<std::vector<Coupling>> couplings_;  ///< [sample][3 s + d]
  std::vector<std::vector<Spin>> spins_, seen_;   ///< [sample * replicas + replica][s]
  std::vector<std::vector<Minstd>> streams_;      ///< [sample][s], equal within a group
  bool second_half_ = false;
  std::int64_t half_sweeps_ = 0;
};

MakeEngine engine_with(Mistake mistake) {
  return [mistake](const Problem& problem) { return std::make_unique<Mistaken>(problem, mistake); };
}

std::vector<Measurement> measurements(std::string_view check, Mistake mistake) {
  const auto found = std::ranges::find(physics_checks(), check, &PhysicsCheck::name);
  return found->run(engine_with(mistake), Effort::quick);
}

using Names = std::set<std::string_view>;

/// Which checks reject an engine: one of their measurements is off, or has a larger error than it should.
Names rejections(Mistake mistake) {
  Names names;
  for (const PhysicsCheck& check : physics_checks()) {
    if (!std::ranges::all_of(measurements(check.name, mistake), &Measurement::agrees)) {
      names.insert(check.name);
    }
  }
  return names;
}

struct Case {
  const char* name;
  Mistake mistake;
  Names rejected_by;
};

/// All checks but these.
Names all_but(const Names& spared) {
  Names names;
  for (const PhysicsCheck& check : physics_checks()) {
    if (!spared.contains(check.name)) {
      names.insert(check.name);
    }
  }
  return names;
}

const Case cases[] = {
    {"None", Mistake::none, {}},
    // Where J and -J are equally likely, only the sign of the energy tells; see
    // WrongSignIsASymmetryWhereSignsAreRandom.
    {"WrongSign", Mistake::wrong_sign, all_but({"no-magnetisation", "infinite-temperature"})},
    {"ThresholdsFor32Bits", Mistake::thresholds_for_32_bits, all_but({"no-magnetisation", "infinite-temperature"})},
    // exp(-beta (12 - 2u)) keeps detailed balance: u and 6 - u differ by the right factor. What is wrong is the time
    // that everything takes, and cold systems are not in equilibrium yet.
    {"HalfTheCost",
     Mistake::half_the_cost,
     {"exact-samples", "one-sweep", "ordered-ferromagnet", "nishimori-overlap", "equilibrium", "quench"}},
    // Detailed balance again.
    {"ZeroCostRefused",
     Mistake::zero_cost_refused,
     {"exact-samples", "ordered-ferromagnet", "infinite-temperature", "quench"}},
    // Each replica alone does nothing wrong. Overlaps are too large; and averages over replicas are less precise than
    // they should be, which is why the checks bound their errors.
    {"OneDrawForAllReplicas",
     Mistake::one_draw_for_all_replicas,
     {"exact-ferromagnet", "nishimori-overlap", "equilibrium"}},
    // The first sweep is right.
    {"StreamsNotStored",
     Mistake::streams_not_stored,
     {"exact-samples", "exact-ferromagnet", "nishimori-energy", "high-temperature", "equilibrium", "quench"}},
    // Neighbouring sites draw nearly equal numbers in the first sweeps; MINSTD forgets that later.
    {"ConsecutiveSeeds",
     Mistake::consecutive_seeds,
     {"exact-ferromagnet", "one-sweep", "ordered-ferromagnet", "nishimori-energy", "quench"}},
    // A ferromagnet has only one kind of coupling, and hides any confusion of couplings.
    {"OwnCouplingsOnly", Mistake::own_couplings_only,
     all_but({"exact-ferromagnet", "ordered-ferromagnet", "no-magnetisation", "infinite-temperature"})},
    {"CouplingsOfFirstSample", Mistake::couplings_of_first_sample,
     all_but({"exact-samples", "exact-ferromagnet", "ordered-ferromagnet", "infinite-temperature"})},
    {"NoWrap", Mistake::no_wrap, all_but({"nishimori-overlap", "no-magnetisation", "infinite-temperature"})},
    {"AllSitesAtOnce", Mistake::all_sites_at_once, all_but({"no-magnetisation", "infinite-temperature"})},
    // A translation by one site: no average can tell.
    {"BlueFirst", Mistake::blue_first, {"infinite-temperature"}},
    {"RedFormulasSliced", Mistake::red_formulas_sliced, all_but({"infinite-temperature"})},
    {"RedFormulasStandard", Mistake::red_formulas_standard,
     all_but({"exact-ferromagnet", "no-magnetisation", "infinite-temperature"})},
};

class Engine : public testing::TestWithParam<Case> {};

TEST_P(Engine, IsRejectedByExactlyTheseChecks) { EXPECT_EQ(rejections(GetParam().mistake), GetParam().rejected_by); }

const auto name_of = [](const testing::TestParamInfo<Case>& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Mistaken, Engine, testing::ValuesIn(cases), name_of);

TEST(PhysicsChecks, EachRejectsSomethingAndEachMistakeIsRejected) {
  Names useful;
  for (const Case& one : cases) {
    useful.insert(one.rejected_by.begin(), one.rejected_by.end());
    EXPECT_EQ(one.rejected_by.empty(), one.mistake == Mistake::none) << one.name;
  }
  EXPECT_EQ(useful, all_but({}));
}

TEST(PhysicsChecks, WrongSignIsASymmetryWhereSignsAreRandom) {
  for (const char* const check : {"one-sweep", "high-temperature", "equilibrium", "quench"}) {
    for (Measurement measurement : measurements(check, Mistake::wrong_sign)) {
      if (measurement.what.starts_with("energy")) {
        EXPECT_FALSE(measurement.agrees()) << text(measurement);
        measurement.found = -measurement.found;  // as a program finds it that has the sign wrong everywhere
      }
      EXPECT_TRUE(measurement.agrees()) << text(measurement);
    }
  }
}

TEST(PhysicsChecks, DoNotPassByBeingBlind) {
  const Measurement good{"x", 1.0, 0.1, 1.2, 0, 0.1};
  EXPECT_TRUE(good.agrees());
  Measurement far = good, blind = good, broken = good;
  far.found = 0.7;
  blind.error = 0.11;
  broken.found = broken.error = std::nan("");
  EXPECT_FALSE(far.agrees());
  EXPECT_FALSE(blind.agrees());
  EXPECT_FALSE(broken.agrees());
  EXPECT_EQ(text(good), "x: found 1 +- 0.1, expected 1.2, 2.0 errors away");
  EXPECT_EQ(text(blind), "x: found 1 +- 0.11, expected 1.2, 1.8 errors away; the error may be 0.1 at most");
}

TEST(Mistaken, WithoutAMistakeHasTheBitsOfTheReference) {
  for (const std::int64_t size : {4, 6}) {
    const Problem problem{.size = size, .samples = 5, .replicas = 3, .samples_per_stream = 2, .seed = 11};
    const auto reference = reference::make_simulation(problem, {});
    const auto own = engine_with(Mistake::none)(problem);
    for (const std::int64_t half_sweeps : {0, 1, 1, 5, 20}) {
      reference->advance(half_sweeps);
      own->advance(half_sweeps);
      EXPECT_EQ(own->state(), reference->state());
    }
  }
}

}  // namespace
}  // namespace psflip::spin_glass
