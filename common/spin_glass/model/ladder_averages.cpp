#include "spin_glass/model/ladder_averages.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
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

}  // namespace

LadderBins::LadderBins(const Problem& problem, bool keep)
    : size_(problem.size),
      sites_(sites(problem)),
      samples_(problem.samples),
      samples_per_stream_(problem.samples_per_stream),
      replicas_(problem.replicas),
      n_(temperatures(problem)),
      copies_(copies(problem)),
      exchange_every_(problem.ladder.exchange_every),
      numbers_(numbers_of(problem)),
      keep_(keep) {
  for (std::int64_t t = 0; t < n_; ++t) betas_.push_back(beta_of(problem, t));
  for (std::int64_t x = 0; x < size_; ++x) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(x) / static_cast<double>(size_);
    cosines_.push_back(std::cos(angle));
    sines_.push_back(std::sin(angle));
  }
  numbers_[last] = -1;
}

std::size_t LadderBins::numbers_of(const Problem& problem) {
  const std::int64_t n = temperatures(problem);
  return static_cast<std::size_t>(of_head +
                                  problem.samples * (problem.replicas + sums_of_temperature * n + 2 * (n + 1)));
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
  }
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
  const double times = numbers_[measurements], n_sites = static_cast<double>(sites_);
  std::vector<LadderAverages> result;
  for (std::int64_t t = 0; t < n_; ++t) {
    using Values = std::vector<double>;  // of samples
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

    const Values e = of_samples([&](const double* of) {
      double sum = 0;
      for (std::int64_t copy = 0; copy < copies_; ++copy) sum += of[copy * n_ + t];
      return sum / times / static_cast<double>(copies_);
    });
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
                       {}};
    row.averages[0] = mean(e);
    row.averages[1] = averaged({sum_of(e2), e_squared}, [&](std::span<const double> means) {
      return std::optional(factor * (means[0] - means[1]));
    });
    if (copies_ > 1) {
      const Values squares = sum_of(q2), fourth_powers = sum_of(q4);
      row.averages[2] = mean(sum_of(abs_q));
      row.averages[3] = mean(squares);
      row.averages[4] = mean(fourth_powers);
      row.averages[5] = averaged({squares, fourth_powers}, [](std::span<const double> means) {
        return means[0] > 0 ? std::optional((3 - means[1] / (means[0] * means[0])) / 2) : std::nullopt;
      });
      row.averages[6] =
          averaged({squares}, [&](std::span<const double> means) { return std::optional(n_sites * means[0]); });
      const Values waves = sum_of(wave);
      row.averages[7] = mean(sum_of(link));
      row.averages[8] =
          averaged({waves}, [&](std::span<const double> means) { return std::optional(n_sites * means[0]); });
      const double sizes = 2 * std::sin(std::numbers::pi / static_cast<double>(size_)) * static_cast<double>(size_);
      row.averages[9] = averaged({squares, waves}, [&](std::span<const double> means) {
        return means[0] >= means[1] && means[1] > 0 ? std::optional(std::sqrt(means[0] / means[1] - 1) / sizes)
                                                    : std::nullopt;
      });
    }
    const std::int64_t now = replicas_ + sums_of_temperature * n_, then = now + n_ + 1;
    const double offered =
        static_cast<double>(copies_) * (offers(measured(), exchange_every_, t) -
                                        offers(static_cast<std::int64_t>(numbers_[before]), exchange_every_, t));
    if (t + 1 < n_ && offered > 0)
      row.averages[10] = mean(of_samples([&](const double* of) { return (of[now + t] - of[then + t]) / offered; }));
    row.averages[11] = mean(
        of_samples([&](const double* of) { return (of[now + n_] - of[then + n_]) / static_cast<double>(replicas_); }));
    result.push_back(row);
  }
  return result;
}

}  // namespace psflip::spin_glass
