#include "spin_glass/model/averages.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace psflip::spin_glass {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The mean of f(x / sites) over whole numbers x.
template <class F>
double mean_of(const std::vector<std::int64_t>& numbers, std::int64_t sites, F f) {
  double sum = 0;
  for (const std::int64_t x : numbers) {
    sum += f(static_cast<double>(x) / static_cast<double>(sites));
  }
  return sum / static_cast<double>(numbers.size());
}

/// Calls f(values of the group, its share of all) for every group; returns how many there are.
template <class F>
std::int64_t for_each_group(std::span<const double> values, std::int64_t samples_per_stream, F f) {
  std::int64_t groups = 0;
  for (std::span<const double> rest = values; !rest.empty(); ++groups) {
    const std::span<const double> group =
        rest.first(std::min(static_cast<std::size_t>(samples_per_stream), rest.size()));
    rest = rest.subspan(group.size());
    f(group, static_cast<double>(group.size()) / static_cast<double>(values.size()));
  }
  return groups;
}

double error_of(double squares, std::int64_t groups) {
  return std::sqrt(squares * static_cast<double>(groups) / static_cast<double>(groups - 1));
}

// C4 beyond its cutoff, as coherence_length() says.
constexpr double tail_power = 0.4;
constexpr double tail_stretch = 1.5;

struct Tail {
  double log_amplitude, slope;  ///< log(r^0.4 C4) = log_amplitude + slope r^1.5

  double operator()(double r) const {
    return std::exp(log_amplitude + slope * std::pow(r, tail_stretch)) * std::pow(r, -tail_power);
  }
};

std::optional<Tail> fit_tail(std::span<const double> c4, std::span<const double> errors, std::int64_t cutoff) {
  constexpr std::int64_t fewest = 3;
  const std::int64_t first = cutoff - 3 >= fewest ? 3 : 1;
  double weights = 0, x_sum = 0, y_sum = 0, xx_sum = 0, xy_sum = 0;
  std::int64_t points = 0;
  for (std::int64_t r = first; r < cutoff; ++r) {
    if (c4[r] <= 0 || (!errors.empty() && errors[r] <= 0)) {
      return std::nullopt;  // a group was left out and C4 is gone, or it is known without any error
    }
    const double x = std::pow(static_cast<double>(r), tail_stretch);
    const double y = std::log(c4[r]) + tail_power * std::log(static_cast<double>(r));
    const double weight = errors.empty() ? 1 : std::pow(c4[r] / errors[r], 2);
    weights += weight;
    x_sum += weight * x;
    y_sum += weight * y;
    xx_sum += weight * x * x;
    xy_sum += weight * x * y;
    ++points;
  }
  if (points < fewest) {
    return std::nullopt;
  }
  const double slope = (weights * xy_sum - x_sum * y_sum) / (weights * xx_sum - x_sum * x_sum);
  if (!(slope < 0)) {
    return std::nullopt;
  }
  return Tail{(y_sum - slope * x_sum) / weights, slope};
}

}  // namespace

std::optional<Average> average_over_groups(std::span<const double> values, std::int64_t samples_per_stream) {
  if (values.empty()) {
    return std::nullopt;
  }
  Average result{mean(values), std::nullopt};
  double squares = 0;
  const std::int64_t groups =
      for_each_group(values, samples_per_stream, [&](std::span<const double> group, double weight) {
        squares += std::pow(weight * (mean(group) - result.value), 2);
      });
  if (groups > 1) {
    result.error = error_of(squares, groups);
  }
  return result;
}

std::optional<Average> jackknife_over_groups(
    const std::vector<std::vector<double>>& values, std::int64_t samples_per_stream,
    const std::function<std::optional<double>(std::span<const double> means)>& f) {
  if (values.empty() || values.front().empty()) {
    return std::nullopt;
  }
  std::vector<double> means;
  std::vector<std::vector<double>> without;  // [group][quantity]
  std::vector<double> weights;               // of the groups
  for (const std::vector<double>& of_quantity : values) {
    means.push_back(mean(of_quantity));
    weights.clear();
    for_each_group(of_quantity, samples_per_stream, [&](std::span<const double> group, double weight) {
      if (weights.size() == without.size()) {
        without.emplace_back();
      }
      without[weights.size()].push_back((means.back() - weight * mean(group)) / (1 - weight));
      weights.push_back(weight);
    });
  }
  const std::optional<double> value = f(means);
  if (!value) {
    return std::nullopt;
  }
  Average result{*value, std::nullopt};
  if (weights.size() < 2) {
    return result;
  }
  double squares = 0;
  for (std::size_t group = 0; group < weights.size(); ++group) {
    const std::optional<double> without_group = f(without[group]);
    if (!without_group) {
      return result;
    }
    squares += std::pow((1 - weights[group]) * (*without_group - *value), 2);
  }
  result.error = error_of(squares, std::ssize(weights));
  return result;
}

std::optional<double> coherence_length(std::span<const double> c4, std::span<const double> errors,
                                       std::int64_t cutoff) {
  const std::int64_t last = std::ssize(c4) - 1;
  const std::optional<Tail> tail = cutoff <= last ? fit_tail(c4, errors, cutoff) : std::nullopt;
  double i_1 = 0, i_2 = 0;
  for (std::int64_t r = 1; r <= last; ++r) {
    const auto distance = static_cast<double>(r);
    const double there = r < cutoff ? c4[r] : tail ? (*tail)(distance) : 0;
    const double end = r == last ? 0.5 : 1;  // the trapezoidal rule's weight; at r = 0 the integrands vanish
    i_1 += end * distance * there;
    i_2 += end * distance * distance * there;
  }
  return i_1 > 0 ? std::optional(i_2 / i_1) : std::nullopt;
}

std::int64_t coherence_cutoff(const std::vector<Average>& c4) {
  std::int64_t r = 0;
  while (r < std::ssize(c4) && c4[r].value > 0 && c4[r].value >= 3 * c4[r].error.value_or(0)) {
    ++r;
  }
  return r;
}

void Averager::add(const SampleObservables& sample) {
  const auto same = [](double x) { return x; };
  const auto square = [](double x) { return x * x; };
  const auto magnitude = [](double x) { return std::abs(x); };
  values_[0].push_back(mean_of(sample.energies, sites_, same));
  values_[1].push_back(mean_of(sample.magnetisations, sites_, same));
  values_[2].push_back(mean_of(sample.magnetisations, sites_, square));
  if (!sample.overlaps.empty()) {
    values_[3].push_back(mean_of(sample.overlaps, sites_, magnitude));
    values_[4].push_back(mean_of(sample.overlaps, sites_, square));
  }
  if (!sample.correlations.empty()) {
    const std::int64_t count = distances(size_), pairs = std::ssize(sample.correlations) / count;
    const double bonds = 3 * static_cast<double>(sites_);
    c4_.resize(count);
    for (std::int64_t r = 0; r < count; ++r) {
      std::int64_t sum = 0;
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        sum += sample.correlations[pair * count + r];
      }
      c4_[r].push_back(static_cast<double>(sum) / (bonds * static_cast<double>(pairs)));
    }
  }
}

Averages Averager::averages() const {
  Averages result;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    result[i] = average_over_groups(values_[i], samples_per_stream_);
  }
  return result;
}

std::optional<Correlations> Averager::correlations() const {
  if (c4_.empty()) {
    return std::nullopt;
  }
  Correlations result;
  std::vector<double> errors;
  for (const std::vector<double>& of_samples : c4_) {
    result.c4.push_back(*average_over_groups(of_samples, samples_per_stream_));
    if (result.c4.back().error) {
      errors.push_back(*result.c4.back().error);
    }
  }
  const std::int64_t cutoff = coherence_cutoff(result.c4);
  result.xi_12 = jackknife_over_groups(
      c4_, samples_per_stream_, [&](std::span<const double> c4) { return coherence_length(c4, errors, cutoff); });
  return result;
}

}  // namespace psflip::spin_glass
