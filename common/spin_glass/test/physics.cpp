#include "spin_glass/test/physics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>

#include "spin_glass/model/observables.hpp"

namespace psflip::spin_glass {
namespace {

constexpr double beta_critical = 0.22165463;  // of the 3D ferromagnet

// ---- Averages

/// Of one sample, a spin: averages over its replicas, or over their pairs.
struct Observables {
  double energy = 0;
  double magnetisation = 0;
  double magnetisation_squared = 0;
  double overlap_squared = 0;
};

struct Estimate {
  double mean;
  double error;  ///< standard error of the mean
};

/// Many systems that are simulated together, and averages over the times at which they were measured.
class Experiment {
 public:
  Experiment(const MakeEngine& make, const Problem& problem)
      : problem_(problem), engine_(make(problem)), sums_(problem.samples) {
    for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
      couplings_.push_back(sample_couplings(problem, sample));
    }
  }

  void half_sweeps(std::int64_t count) { engine_->advance(count); }
  void sweeps(std::int64_t count) { engine_->advance(2 * count); }

  State state() const { return engine_->state(); }

  /// Adds the state of now to the averages.
  void measure() {
    const State now = engine_->state();
    const auto spins = static_cast<double>(sites(problem_));
    for (std::int64_t sample = 0; sample < problem_.samples; ++sample) {
      const SampleObservables found = observe(now, sample, couplings_[sample]);
      Observables& sum = sums_[sample];
      for (std::int64_t replica = 0; replica < problem_.replicas; ++replica) {
        const double share = 1 / static_cast<double>(problem_.replicas);
        const double m = static_cast<double>(found.magnetisations[replica]) / spins;
        sum.energy += share * static_cast<double>(found.energies[replica]) / spins;
        sum.magnetisation += share * m;
        sum.magnetisation_squared += share * m * m;
      }
      for (const std::int64_t overlap : found.overlaps) {
        const double q = static_cast<double>(overlap) / spins;
        sum.overlap_squared += q * q / static_cast<double>(found.overlaps.size());
      }
    }
    ++times_;
  }

  /// `times` measurements, `apart` sweeps before each.
  void measure_series(int times, std::int64_t apart) {
    for (int i = 0; i < times; ++i) {
      sweeps(apart);
      measure();
    }
  }

  void forget() {
    sums_.assign(sums_.size(), {});
    times_ = 0;
  }

  /// The mean of what `value` makes of a sample's observables. Its error is that of the groups' scatter.
  template <class Value>
  Estimate mean(Value value) const {
    std::vector<double> group_means(groups(problem_)), group_sizes(groups(problem_));
    for (std::int64_t sample = 0; sample < problem_.samples; ++sample) {
      const std::int64_t group = sample / problem_.samples_per_stream;
      group_means[group] += value(sums_[sample]) / times_;
      ++group_sizes[group];
    }
    double sum = 0, squares = 0;
    for (std::size_t group = 0; group < group_means.size(); ++group) {
      group_means[group] /= group_sizes[group];
      sum += group_means[group];
    }
    const double count = static_cast<double>(group_means.size());
    for (const double group_mean : group_means) {
      squares += (group_mean - sum / count) * (group_mean - sum / count);
    }
    return {sum / count, std::sqrt(squares / (count - 1) / count)};
  }
  Estimate energy() const {
    return mean([](const Observables& of) { return of.energy; });
  }
  Estimate magnetisation() const {
    return mean([](const Observables& of) { return of.magnetisation; });
  }
  Estimate magnetisation_squared() const {
    return mean([](const Observables& of) { return of.magnetisation_squared; });
  }
  Estimate overlap_squared() const {
    return mean([](const Observables& of) { return of.overlap_squared; });
  }

 private:
  Problem problem_;
  std::unique_ptr<Simulation> engine_;
  std::vector<std::vector<Coupling>> couplings_;
  std::vector<Observables> sums_;  ///< [sample]
  int times_ = 0;
};

std::string digits(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  return buffer;
}

/// " at L = 8, T = 2"
std::string at(const Problem& problem) {
  return " at L = " + std::to_string(problem.size) + ", T = " + digits(1 / problem.beta);
}

Measurement measured(const std::string& what, const Estimate& found, double expected, double largest_error,
                     double expected_uncertainty = 0) {
  return {what, found.mean, found.error, expected, expected_uncertainty, largest_error};
}

/// So many independent samples of so many sites that they have `spins` spins together; at least 32, whole groups.
std::int64_t samples_for(std::int64_t spins, const Problem& problem) {
  const std::int64_t w = problem.samples_per_stream;
  return std::max<std::int64_t>(spins / sites(problem) / problem.replicas / w, 32) * w;
}

// ---- The checks

/// The couplings of the L = 4 samples whose energies are known exactly: J = -1 where std::mt19937(number) draws a word
/// with the highest bit set.
std::vector<Coupling> enumerated_sample(std::uint32_t number) {
  std::mt19937 engine(number);
  std::vector<Coupling> couplings(3 * 64);
  for (Coupling& coupling : couplings) {
    coupling = engine() >> 31 != 0 ? -1 : 1;
  }
  return couplings;
}

/// Mean energies of single samples of L = 4, computed exactly.
std::vector<Measurement> exact_samples(const MakeEngine& make, Effort effort) {
  struct Known {
    std::uint32_t number;
    double energy_at_1_1, energy_at_2;
  };
  std::vector<Measurement> result;
  for (const auto& [number, energy_at_1_1, energy_at_2] : {Known{1000, -105.898938639, -83.719037},
                                                           {1001, -107.604355994, -85.019579},
                                                           {1002, -108.217843578, -86.528220}}) {
    for (const bool cold : {true, false}) {
      Problem problem{.size = 4, .beta = cold ? 1 / 1.1 : 0.5, .replicas = 2, .samples_per_stream = 1};
      problem.samples = effort == Effort::quick ? 64 : 128;
      problem.seed = number;
      problem.given_couplings = std::make_shared<const std::vector<std::vector<Coupling>>>(
          static_cast<std::size_t>(problem.samples), enumerated_sample(number));
      Experiment experiment(make, problem);
      const int sweeps = (effort == Effort::quick ? 1 : 6) * (cold ? 800 : 200);
      experiment.sweeps(sweeps / 2);
      experiment.measure_series(sweeps / 10, 10);
      result.push_back(measured("energy of the sample " + std::to_string(number) + at(problem), experiment.energy(),
                                (cold ? energy_at_1_1 : energy_at_2) / 64, effort == Effort::quick ? 0.005 : 0.0015,
                                1e-8));
    }
  }
  return result;
}

/// The ferromagnet of L = 4 at the critical temperature of the infinite one, computed exactly.
std::vector<Measurement> exact_ferromagnet(const MakeEngine& make, Effort effort) {
  Problem problem{.size = 4, .beta = beta_critical, .replicas = 2, .samples_per_stream = 1, .seed = 1};
  problem.ferromagnetic_fraction = 1;
  problem.samples = effort == Effort::quick ? 128 : 256;
  Experiment experiment(make, problem);
  experiment.sweeps(100);
  experiment.measure_series(effort == Effort::quick ? 30 : 120, 10);
  return {measured("energy of the ferromagnet" + at(problem), experiment.energy(), -1.293228020,
                   effort == Effort::quick ? 0.009 : 0.003, 1e-8)};
}

/// What a half-sweep does to the sites of a colour, if each of their bonds is unsatisfied with probability q,
/// independently of the site's other five.
struct HalfSweep {
  double unsatisfied = 0;  ///< the probability of a bond to be unsatisfied afterwards
  double flips = 0;        ///< the probability of a site to flip

  HalfSweep(double q, double beta) {
    for (int u = 0; u <= 6; ++u) {
      const int ways[] = {1, 6, 15, 20, 15, 6, 1};
      const double probability = ways[u] * std::pow(q, u) * std::pow(1 - q, 6 - u);
      const double acceptance = std::min(1.0, std::exp(-beta * (12 - 4 * u)));
      flips += probability * acceptance;
      unsatisfied += probability * ((1 - acceptance) * u + acceptance * (6 - u)) / 6;
    }
  }
  double energy() const { return -3 * (1 - 2 * unsatisfied); }
};

/// The first sweep from a random start, for any L. With random couplings all bonds are independent at first. Each has
/// one red end; so after the red half-sweep the six bonds of a blue site, which have different red ends, still are.
std::vector<Measurement> one_sweep(const MakeEngine& make, Effort effort) {
  struct Family {
    double temperature;
    std::vector<std::int64_t> sizes;
  };
  std::vector<Measurement> result;
  for (const auto& [temperature, sizes] :
       {Family{0.7, {4, 10, 12, 18}}, {1.1, {6, 8, 14, 16}}, {2.0, {10, 4, 6, 20}}}) {
    for (const std::int64_t size : sizes) {
      if (effort == Effort::quick && size > 10) {
        continue;
      }
      Problem problem{.size = size, .beta = 1 / temperature, .replicas = 2, .samples_per_stream = 4};
      problem.seed = static_cast<std::uint64_t>(size);
      problem.samples = samples_for(effort == Effort::quick ? 400'000 : 6'000'000, problem);
      const HalfSweep red(0.5, problem.beta), blue(red.unsatisfied, problem.beta);
      const double largest_error = effort == Effort::quick ? 0.004 : 0.001;
      Experiment experiment(make, problem);
      experiment.half_sweeps(1);
      experiment.measure();
      result.push_back(
          measured("energy after the red half-sweep" + at(problem), experiment.energy(), red.energy(), largest_error));
      experiment.forget();
      experiment.half_sweeps(1);
      experiment.measure();
      result.push_back(
          measured("energy after the first sweep" + at(problem), experiment.energy(), blue.energy(), largest_error));
    }
  }
  return result;
}

/// The first sweep from all spins up, with J = 1 everywhere: m = 0.80672 and e = -2.06564 at the critical temperature.
/// An engine with the wrong sign flips all spins.
std::vector<Measurement> ordered_ferromagnet(const MakeEngine& make, Effort effort) {
  std::vector<Measurement> result;
  for (const std::int64_t size : {6, 8}) {
    Problem problem{.size = size, .beta = beta_critical, .replicas = 1, .samples_per_stream = 1, .seed = 2};
    problem.start = Start::ordered;
    problem.ferromagnetic_fraction = 1;
    problem.samples = samples_for(effort == Effort::quick ? 2'000'000 : 12'000'000, problem);
    const HalfSweep red(0, problem.beta), blue(red.unsatisfied, problem.beta);
    const double largest_error = effort == Effort::quick ? 0.003 : 0.0012;
    Experiment experiment(make, problem);
    const auto compare = [&](const std::string& when, double magnetisation, double energy) {
      experiment.half_sweeps(1);
      experiment.forget();
      experiment.measure();
      result.push_back(
          measured("magnetisation " + when + at(problem), experiment.magnetisation(), magnetisation, largest_error));
      result.push_back(measured("energy " + when + at(problem), experiment.energy(), energy, largest_error));
    };
    compare("after the red half-sweep", 1 - red.flips, red.energy());
    compare("after the first sweep", 1 - red.flips - blue.flips, blue.energy());
  }
  return result;
}

/// On the Nishimori line, tanh(beta) = 2p - 1, an ordered start is as good as equilibrium for what does not change
/// under a gauge transformation: the energy is -3 tanh(beta) at all times.
std::vector<Measurement> nishimori_energy(const MakeEngine& make, Effort effort) {
  std::vector<Measurement> result;
  for (const double temperature : {1.5, 1.0, 2.5}) {
    if (effort == Effort::quick && temperature != 1.5) {
      continue;
    }
    Problem problem{.size = temperature == 1.5 ? 6 : 8, .beta = 1 / temperature, .replicas = 2};
    problem.samples_per_stream = 1;
    problem.seed = 3;
    problem.start = Start::ordered;
    problem.ferromagnetic_fraction = (1 + std::tanh(problem.beta)) / 2;
    problem.samples = samples_for(effort == Effort::quick ? 120'000 : 1'600'000, problem);
    Experiment experiment(make, problem);
    std::int64_t now = 0;
    for (const std::int64_t half_sweeps : {0, 1, 2, 3, 5, 8, 41, 100}) {
      experiment.half_sweeps(half_sweeps - now);
      now = half_sweeps;
      experiment.forget();
      experiment.measure();
      result.push_back(measured("energy after " + std::to_string(now) + " half-sweeps" + at(problem),
                                experiment.energy(), -3 * std::tanh(problem.beta),
                                effort == Effort::quick ? 0.008 : 0.0025));
    }
  }
  return result;
}

/// On the Nishimori line, in equilibrium, two replicas are as alike as one of them and the ferromagnetic order.
std::vector<Measurement> nishimori_overlap(const MakeEngine& make, Effort effort) {
  Problem problem{.size = 4, .beta = 1 / 1.5, .replicas = 4, .samples_per_stream = 1, .seed = 4};
  problem.ferromagnetic_fraction = (1 + std::tanh(problem.beta)) / 2;
  problem.samples = effort == Effort::quick ? 256 : 4096;
  Experiment experiment(make, problem);
  experiment.sweeps(100);
  experiment.measure_series(effort == Effort::quick ? 5 : 10, 10);
  const auto difference = [](const Observables& of) { return of.overlap_squared - of.magnetisation_squared; };
  return {measured("[q^2] - [m^2]" + at(problem), experiment.mean(difference), 0,
                   effort == Effort::quick ? 0.014 : 0.0035)};
}

/// At p = 1/2 and from a random start all products of different spins average to zero, at any temperature and time:
/// changing the sign of a spin and of its six couplings changes nothing.
std::vector<Measurement> no_magnetisation(const MakeEngine& make, Effort effort) {
  std::vector<Measurement> result;
  for (const std::int64_t size : {4, 6}) {
    Problem problem{.size = size, .beta = 1 / 1.1, .replicas = 1, .samples_per_stream = 1, .seed = 5};
    problem.samples = effort == Effort::quick ? 1500 : 24'000;
    const double expected = 1 / static_cast<double>(sites(problem));
    Experiment experiment(make, problem);
    for (const std::int64_t sweeps : {2, 14}) {
      experiment.sweeps(sweeps);
      experiment.forget();
      experiment.measure();
      result.push_back(measured("[m^2] after " + std::to_string(sweeps) + " sweeps more" + at(problem),
                                experiment.magnetisation_squared(), expected,
                                (effort == Effort::quick ? 0.06 : 0.015) * expected));
    }
  }
  return result;
}

/// At beta = 0 every flip is accepted: exactly the red sites change in the first half of a sweep, then the blue ones.
std::vector<Measurement> infinite_temperature(const MakeEngine& make, Effort) {
  std::vector<Measurement> result;
  for (const Start start : {Start::random, Start::ordered}) {
    Problem problem{.size = 6, .beta = 0, .samples = 5, .replicas = 3, .samples_per_stream = 2, .seed = 6};
    problem.start = start;
    Experiment experiment(make, problem);
    State before = experiment.state();
    for (int half_sweep = 0; half_sweep < 6; ++half_sweep) {
      experiment.half_sweeps(1);
      const State after = experiment.state();
      std::int64_t right = 0;
      for (std::size_t i = 0; i < after.spins.size(); ++i) {
        const std::size_t s = i % 216, x = s % 6, y = s / 6 % 6, z = s / 36;
        const bool in_turn = (x + y + z) % 2 == static_cast<std::size_t>(half_sweep % 2);
        right += (after.spins[i] != before.spins[i]) == in_turn ? 1 : 0;
      }
      const double fraction = static_cast<double>(right) / static_cast<double>(after.spins.size());
      result.push_back({"fraction of spins that do as they must in half-sweep " + std::to_string(half_sweep) +
                            " from a start that is " + std::string(name(start)),
                        fraction, 0, 1, 0, 0});
      before = after;
    }
  }
  return result;
}

/// The series of the energy at high temperature, for an infinite lattice, in t = tanh(beta).
std::vector<Measurement> high_temperature(const MakeEngine& make, Effort effort) {
  std::vector<Measurement> result;
  for (const double temperature : {3.0, 4.0}) {
    Problem problem{.size = temperature == 3 ? 14 : 12, .beta = 1 / temperature, .replicas = 2};
    problem.samples_per_stream = 4;
    problem.seed = 7;
    problem.samples = samples_for(effort == Effort::quick ? 250'000 : 4'000'000, problem);
    const double t = std::tanh(problem.beta);
    const double expected = -3 * t + (12 * std::pow(t, 7) + 132 * std::pow(t, 11)) * (1 - t * t);
    Experiment experiment(make, problem);
    experiment.sweeps(effort == Effort::quick ? 20 : 40);
    experiment.measure_series(5, 4);
    result.push_back(measured("energy" + at(problem), experiment.energy(), expected,
                              effort == Effort::quick ? 0.003 : 0.0008, temperature == 3 ? 2e-4 : 1e-5));
  }
  return result;
}

/// Overlaps between replicas and energies in equilibrium at T = 2, found with other programs.
std::vector<Measurement> equilibrium(const MakeEngine& make, Effort effort) {
  const bool quick = effort == Effort::quick;
  Problem small{.size = 4, .beta = 0.5, .replicas = 4, .samples_per_stream = 1, .seed = 8};
  small.samples = quick ? 256 : 4096;
  Experiment of_small(make, small);
  of_small.sweeps(60);
  of_small.measure_series(quick ? 5 : 20, 10);

  Problem large{.size = 8, .beta = 0.5, .replicas = 4, .samples_per_stream = 1, .seed = 9};
  large.samples = quick ? 48 : 768;
  Experiment of_large(make, large);
  of_large.sweeps(100);
  of_large.measure_series(quick ? 5 : 20, 10);
  return {measured("[q^2]" + at(small), of_small.overlap_squared(), 0.0981, quick ? 0.006 : 0.0012, 0.0007),
          measured("[q^2]" + at(large), of_large.overlap_squared(), 0.01665, quick ? 0.0018 : 0.0004, 0.00025),
          measured("energy" + at(large), of_large.energy(), -1.3352, quick ? 0.006 : 0.0014, 0.0013)};
}

/// How the energy falls after a quench from a random start, found with other programs.
std::vector<Measurement> quench(const MakeEngine& make, Effort effort) {
  Problem problem{.size = 32, .beta = 1 / 1.1, .samples = 8, .replicas = 1, .samples_per_stream = 1, .seed = 10};
  problem.samples = effort == Effort::quick ? 8 : 64;
  const double largest_error = effort == Effort::quick ? 0.003 : 0.001;
  Experiment experiment(make, problem);
  experiment.sweeps(2);
  experiment.measure();
  std::vector<Measurement> result = {
      measured("energy after 2 sweeps" + at(problem), experiment.energy(), -1.41391, largest_error, 0.00018)};
  experiment.forget();
  experiment.sweeps(14);
  experiment.measure();
  result.push_back(
      measured("energy after 16 sweeps" + at(problem), experiment.energy(), -1.64133, largest_error, 0.00016));
  return result;
}

}  // namespace

bool Measurement::agrees() const {
  return std::abs(found - expected) <= 4.5 * std::hypot(error, expected_uncertainty) && error <= largest_error;
}

std::string text(const Measurement& measurement) {
  const double uncertainty = std::hypot(measurement.error, measurement.expected_uncertainty);
  std::string line = measurement.what + ": found " + digits(measurement.found) + " +- " + digits(measurement.error) +
                     ", expected " + digits(measurement.expected);
  if (uncertainty > 0) {
    char buffer[48];
    std::snprintf(buffer, sizeof buffer, ", %.1f errors away",
                  std::abs(measurement.found - measurement.expected) / uncertainty);
    line += buffer;
  }
  if (!(measurement.error <= measurement.largest_error)) {
    line += "; the error may be " + digits(measurement.largest_error) + " at most";
  }
  return line;
}

const std::vector<PhysicsCheck>& physics_checks() {
  static const std::vector<PhysicsCheck> all = {{"exact-samples", exact_samples},
                                                {"exact-ferromagnet", exact_ferromagnet},
                                                {"one-sweep", one_sweep},
                                                {"ordered-ferromagnet", ordered_ferromagnet},
                                                {"nishimori-energy", nishimori_energy},
                                                {"nishimori-overlap", nishimori_overlap},
                                                {"no-magnetisation", no_magnetisation},
                                                {"infinite-temperature", infinite_temperature},
                                                {"high-temperature", high_temperature},
                                                {"equilibrium", equilibrium},
                                                {"quench", quench}};
  return all;
}

}  // namespace psflip::spin_glass
