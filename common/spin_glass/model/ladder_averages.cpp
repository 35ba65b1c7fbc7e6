#include "spin_glass/model/ladder_averages.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "app/invalid_input.hpp"
#include "spin_glass/model/exchange.hpp"

namespace psflip::spin_glass {
namespace {

int bin_of(std::int64_t sweep) { return sweep <= 0 ? 0 : std::bit_width(static_cast<std::uint64_t>(sweep - 1)) + 1; }

/// How many of the exchanges until then are offered to the pair of temperature t and the next.
double offers(std::int64_t sweep, std::int64_t exchange_every, std::int64_t t) {
  return static_cast<double>((sweep / exchange_every + 1 - t % 2) / 2);
}

/// How many numbers of C4 and of P there are at each temperature.
std::int64_t correlations_of(const Problem& problem, const LadderFunctions& functions) {
  return functions.correlations ? distances(problem.size) : 0;
}
std::int64_t bins_of(const Problem& problem, const LadderFunctions& functions) {
  return functions.distribution ? distribution_bins(problem.size) : 0;
}

/// The weights of three values, or two, in the derivative of their polynomial at x[at].
std::vector<double> derivative(std::span<const double> x, std::size_t at) {
  std::vector<double> weights(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t without = 0; without < x.size(); ++without) {
      if (without == i) continue;
      double term = 1 / (x[i] - x[without]);
      for (std::size_t j = 0; j < x.size(); ++j)
        if (j != i && j != without) term *= (x[at] - x[j]) / (x[i] - x[j]);
      weights[i] += term;
    }
  }
  return weights;
}

}  // namespace

LadderBins::LadderBins(const Problem& problem, const LadderFunctions& functions, bool keep)
    : size_(problem.size),
      sites_(sites(problem)),
      samples_(problem.samples),
      samples_per_stream_(problem.samples_per_stream),
      replicas_(problem.replicas),
      n_(temperatures(problem)),
      copies_(copies(problem)),
      exchange_every_(problem.ladder.exchange_every),
      distances_(correlations_of(problem, functions)),
      bins_(bins_of(problem, functions)),
      numbers_(numbers_of(problem, functions)),
      keep_(keep) {
  for (std::int64_t t = 0; t < n_; ++t) betas_.push_back(beta_of(problem, t));
  for (std::int64_t x = 0; x < size_; ++x) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(x) / static_cast<double>(size_);
    cosines_.push_back(std::cos(angle));
    sines_.push_back(std::sin(angle));
  }
  numbers_[last] = -1;
}

std::size_t LadderBins::numbers_of(const Problem& problem, const LadderFunctions& functions) {
  const std::int64_t n = temperatures(problem);
  return static_cast<std::size_t>(
      of_head + problem.samples * (problem.replicas + sums_of_temperature * n + 2 * (n + 1)) +
      groups(problem) * n * (correlations_of(problem, functions) + bins_of(problem, functions)));
}

void LadderBins::resume(std::vector<LadderAverages> finished, std::vector<double> numbers,
                        std::vector<std::vector<double>> kept) {
  check(numbers);
  for (const std::vector<double>& of_bin : kept) check(of_bin);
  finished_ = std::move(finished);
  numbers_ = std::move(numbers);
  kept_ = std::move(kept);
}

void LadderBins::check(const std::vector<double>& numbers) const {
  const bool right = numbers.size() == numbers_.size() &&
                     std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); }) &&
                     std::ranges::all_of(std::span(numbers).first(of_head), [](double number) {
                       return number == std::floor(number) && number >= -1 && number <= 1e15;
                     });
  if (!right) throw InvalidInput("the sums of a bin cannot be right");
}

void LadderBins::begin(std::vector<double> numbers) {
  check(numbers);
  if (numbers_[measurements] > 0) finish();
  numbers_ = std::move(numbers);
}

void LadderBins::finish() {
  const std::vector<LadderAverages> finished = averages();
  finished_.insert(finished_.end(), finished.begin(), finished.end());
  if (keep_) kept_.push_back(numbers_);
}

void LadderBins::begin(std::int64_t sweep, const Exchanges& exchanges) {
  const std::int64_t of_exchanges = n_ + 1, now_at = replicas_ + sums_of_temperature * n_;
  if (numbers_[measurements] > 0 && bin_of(sweep) != bin_of(measured())) {
    finish();
    numbers_[measurements] = 0;
    numbers_[before] = numbers_[last];
    for (std::int64_t sample = 0; sample < samples_; ++sample) {
      double* const of = sums(sample);
      std::fill_n(of, now_at, 0.0);
      std::copy_n(of + now_at, of_exchanges, of + now_at + of_exchanges);
    }
    std::fill(numbers_.begin() + functions_at(), numbers_.end(), 0.0);
  }
  if (numbers_[measurements] == 0) numbers_[first] = static_cast<double>(sweep);
  numbers_[last] = static_cast<double>(sweep);
  ++numbers_[measurements];
  for (std::int64_t sample = 0; sample < samples_; ++sample) {
    double* const now = sums(sample) + now_at;
    std::fill_n(now, of_exchanges, 0.0);
    for (std::int64_t replica = 0; replica < replicas_; ++replica) {
      now[replica % n_] += exchanges.accepted[sample * replicas_ + replica];
      now[n_] += round_trips(exchanges.walkers[sample * replicas_ + replica]);
    }
  }
}

void LadderBins::add(std::int64_t sample, const SampleObservables& observables) {
  const auto n_sites = static_cast<double>(sites_);
  double* const of = sums(sample);
  double* const at = of + replicas_;
  for (std::int64_t replica = 0; replica < replicas_; ++replica) {
    const double e = static_cast<double>(observables.energies[replica]) / n_sites;
    of[replica] += e;
    at[e2 * n_ + replica % n_] += e * e / static_cast<double>(copies_);
  }
  const double pairs_of_copies = static_cast<double>(pairs(copies_));
  for (std::int64_t i = 0; i < std::ssize(observables.overlaps); ++i) {
    const double q = static_cast<double>(observables.overlaps[i]) / n_sites;
    const std::int64_t t = i % n_;
    at[abs_q * n_ + t] += std::abs(q) / pairs_of_copies;
    at[q2 * n_ + t] += q * q / pairs_of_copies;
    at[q4 * n_ + t] += q * q * q * q / pairs_of_copies;
    at[link * n_ + t] += static_cast<double>(observables.links[i]) / (3 * n_sites) / pairs_of_copies;
    double squares = 0;  // of the sums of q exp(i k x): q is 1 less twice what planes count, and the 1 drops out
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t* const plane = &observables.planes[(i * 3 + axis) * size_];
      double real = 0, imaginary = 0;
      for (std::int64_t x = 0; x < size_; ++x) {
        real += cosines_[x] * static_cast<double>(plane[x]);
        imaginary += sines_[x] * static_cast<double>(plane[x]);
      }
      squares += 4 * (real * real + imaginary * imaginary);
    }
    at[wave * n_ + t] += squares / 3 / (n_sites * n_sites) / pairs_of_copies;
    double* const functions =
        numbers_.data() + functions_at() + (sample / samples_per_stream_ * n_ + t) * (distances_ + bins_);
    for (std::int64_t r = 0; r < distances_; ++r)
      functions[r] += static_cast<double>(observables.correlations[i * distances_ + r]);
    if (bins_ > 0) ++functions[distances_ + (observables.overlaps[i] + sites_) / 2 / (size_ + 1)];
  }
}

/// The means of a function's sums in all groups, times a factor.
std::vector<Average> LadderBins::function(std::int64_t t, std::int64_t from, std::int64_t count, double factor) const {
  std::vector<Average> result;
  std::vector<double> values(static_cast<std::size_t>(samples_));  // each that of its group: so they have its weight
  for (std::int64_t number = from; number < from + count; ++number) {
    for (std::int64_t sample = 0; sample < samples_; ++sample) {
      const std::int64_t group = sample / samples_per_stream_;
      const std::int64_t of_group = std::min(samples_per_stream_, samples_ - group * samples_per_stream_);
      values[sample] = factor * numbers_[functions_at() + (group * n_ + t) * (distances_ + bins_) + number] /
                       static_cast<double>(of_group);
    }
    result.push_back(average_over_groups(values, samples_per_stream_).value());
  }
  return result;
}

std::vector<LadderAverages> LadderBins::rows() const {
  std::vector<LadderAverages> all = finished_;
  if (!numbers_.empty() && numbers_[measurements] > 0) {
    const std::vector<LadderAverages> present = averages();
    all.insert(all.end(), present.begin(), present.end());
  }
  return all;
}

std::vector<LadderAverages> LadderBins::averages() const {
  using Values = std::vector<double>;  // of samples
  const double times = numbers_[measurements], n_sites = static_cast<double>(sites_);
  std::vector<LadderAverages> result;
  std::vector<Values> energies;  // by temperature
  for (std::int64_t t = 0; t < n_; ++t) {
    Values& e = energies.emplace_back();
    for (std::int64_t sample = 0; sample < samples_; ++sample) {
      double sum = 0;
      for (std::int64_t copy = 0; copy < copies_; ++copy) sum += sums(sample)[copy * n_ + t];
      e.push_back(sum / times / static_cast<double>(copies_));
    }
  }
  for (std::int64_t t = 0; t < n_; ++t) {
    const auto of_samples = [&](auto f) {
      Values values;
      for (std::int64_t sample = 0; sample < samples_; ++sample) values.push_back(f(sums(sample)));
      return values;
    };
    const auto sum_of = [&](Sum sum) {
      return of_samples([&](const double* of) { return of[replicas_ + sum * n_ + t] / times; });
    };
    const auto averaged = [&](const std::vector<Values>& values, auto f) {
      return jackknife_over_groups(values, samples_per_stream_, f);
    };
    const auto mean = [&](const Values& values) {
      return averaged({values}, [](std::span<const double> means) { return std::optional(means[0]); });
    };

    const Values e_squared = of_samples([&](const double* of) {  // of two copies, or of the only one
      double sum = 0, all = 0;
      for (std::int64_t copy = 0; copy < copies_; ++copy) {
        const double one = of[copy * n_ + t] / times;
        sum += one;
        all += one * one;
      }
      return copies_ > 1 ? (sum * sum - all) / static_cast<double>(2 * pairs(copies_)) : all;
    });
    const double factor = betas_[t] * betas_[t] * n_sites;
    LadderAverages row{static_cast<std::int64_t>(numbers_[first]),
                       measured(),
                       static_cast<std::int64_t>(numbers_[measurements]),
                       t,
                       {},
                       {},
                       {}};
    row.averages[0] = mean(energies[t]);
    row.averages[1] = averaged({sum_of(e2), e_squared}, [&](std::span<const double> means) {
      return std::optional(factor * (means[0] - means[1]));
    });
    const std::int64_t some = std::min<std::int64_t>(n_, 3), coldest = std::clamp<std::int64_t>(t - 1, 0, n_ - some);
    const std::vector<double> weights = derivative(std::span(betas_).subspan(coldest, some), t - coldest);
    row.averages[2] =
        averaged({energies.begin() + coldest, energies.begin() + coldest + some}, [&](std::span<const double> means) {
          const double slope = std::inner_product(means.begin(), means.end(), weights.begin(), 0.0);
          return std::optional(-betas_[t] * betas_[t] * slope);
        });
    if (copies_ > 1) {
      const Values squares = sum_of(q2), fourth_powers = sum_of(q4);
      row.averages[3] = mean(sum_of(abs_q));
      row.averages[4] = mean(squares);
      row.averages[5] = mean(fourth_powers);
      row.averages[6] = averaged({squares, fourth_powers}, [](std::span<const double> means) {
        return means[0] > 0 ? std::optional((3 - means[1] / (means[0] * means[0])) / 2) : std::nullopt;
      });
      row.averages[7] =
          averaged({squares}, [&](std::span<const double> means) { return std::optional(n_sites * means[0]); });
      const Values waves = sum_of(wave);
      row.averages[8] = mean(sum_of(link));
      row.averages[9] =
          averaged({waves}, [&](std::span<const double> means) { return std::optional(n_sites * means[0]); });
      const double sizes = 2 * std::sin(std::numbers::pi / static_cast<double>(size_)) * static_cast<double>(size_);
      row.averages[10] = averaged({squares, waves}, [&](std::span<const double> means) {
        return means[0] >= means[1] && means[1] > 0 ? std::optional(std::sqrt(means[0] / means[1] - 1) / sizes)
                                                    : std::nullopt;
      });
    }
    if (copies_ > 1) {
      const double overlaps_of_sample = times * static_cast<double>(pairs(copies_));
      row.c4 = function(t, 0, distances_, 1 / overlaps_of_sample / (3 * n_sites));
      row.p = function(t, distances_, bins_, 1 / overlaps_of_sample / distribution_width(size_));
    }
    const std::int64_t now = replicas_ + sums_of_temperature * n_, then = now + n_ + 1;
    const double offered =
        static_cast<double>(copies_) * (offers(measured(), exchange_every_, t) -
                                        offers(static_cast<std::int64_t>(numbers_[before]), exchange_every_, t));
    if (t + 1 < n_ && offered > 0)
      row.averages[11] = mean(of_samples([&](const double* of) { return (of[now + t] - of[then + t]) / offered; }));
    row.averages[12] = mean(
        of_samples([&](const double* of) { return (of[now + n_] - of[then + n_]) / static_cast<double>(replicas_); }));
    result.push_back(row);
  }
  return result;
}

}  // namespace psflip::spin_glass
