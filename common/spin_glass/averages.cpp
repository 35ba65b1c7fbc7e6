#include "spin_glass/averages.hpp"

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

}  // namespace

std::optional<Average> average_over_groups(std::span<const double> values, std::int64_t samples_per_stream) {
  if (values.empty()) {
    return std::nullopt;
  }
  Average result{mean(values), std::nullopt};
  double squares = 0;
  std::int64_t groups = 0;
  for (std::span<const double> rest = values; !rest.empty(); ++groups) {
    const std::span<const double> group =
        rest.first(std::min(static_cast<std::size_t>(samples_per_stream), rest.size()));
    rest = rest.subspan(group.size());
    const double weight = static_cast<double>(group.size()) / static_cast<double>(values.size());
    squares += std::pow(weight * (mean(group) - result.value), 2);
  }
  if (groups > 1) {
    result.error = std::sqrt(squares * static_cast<double>(groups) / static_cast<double>(groups - 1));
  }
  return result;
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
}

Averages Averager::averages() const {
  Averages result;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    result[i] = average_over_groups(values_[i], samples_per_stream_);
  }
  return result;
}

}  // namespace psflip::spin_glass
