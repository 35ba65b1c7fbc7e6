/// Averages over samples, with errors that know which samples share their random numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "spin_glass/observables.hpp"
#include "spin_glass/problem.hpp"

namespace psflip::spin_glass {

struct Average {
  double value;
  std::optional<double> error;  ///< one standard error; none where there is only one group of samples
  friend bool operator==(const Average&, const Average&) = default;
};

/// The mean of `values`, one a sample, and its standard error over groups of `samples_per_stream` samples.
///
/// Samples of a group share their draws, so their values are correlated; groups are independent. With G groups, group g
/// of n_g samples with the mean x_g, w_g = n_g / M and the mean X = sum w_g x_g:
///     error^2 = G / (G - 1) sum w_g^2 (x_g - X)^2
/// For equal groups this is the usual error of a mean of G numbers; the last group may be smaller (the ratio estimator
/// of cluster sampling: Cochran, Sampling Techniques, 1977, chapter 9A). One group gives no error, however many
/// replicas it has. No values give no average.
std::optional<Average> average_over_groups(std::span<const double> values, std::int64_t samples_per_stream);

/// What is averaged: energy a site e, magnetisation a site m, m^2; |q| and q^2 of the overlaps a site q. Each over the
/// replicas, or pairs of replicas, of a sample first.
inline constexpr std::array<std::string_view, 5> averaged_names = {"e", "m", "m2", "abs_q", "q2"};

/// In the order of averaged_names. With one replica there are no overlaps, and nothing for the last two.
using Averages = std::array<std::optional<Average>, averaged_names.size()>;

/// Collects the averages of one measuring time.
class Averager {
 public:
  explicit Averager(const Problem& problem) : sites_(sites(problem)), samples_per_stream_(problem.samples_per_stream) {}

  /// Samples come in their order.
  void add(const SampleObservables& sample);
  Averages averages() const;

 private:
  std::int64_t sites_;
  std::int64_t samples_per_stream_;
  std::array<std::vector<double>, averaged_names.size()> values_;  ///< [quantity][sample]
};

}  // namespace psflip::spin_glass
