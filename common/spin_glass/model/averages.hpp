/// Averages over samples, with errors that know which samples share their random numbers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "spin_glass/model/observables.hpp"
#include "spin_glass/model/problem.hpp"

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

/// A quantity that is no mean over samples, but a function of such means, and its error by the jackknife over groups.
///
/// `means[i]` are the values of quantity i, one a sample. With f of all samples' means and f_g of those without group
/// g, weights w_g as above,
///     error^2 = G / (G - 1) sum (1 - w_g)^2 (f_g - f)^2
/// For equal groups this is the usual (G - 1) / G sum (f_g - f)^2, and for a linear f the error of
/// average_over_groups(). Nothing if f has no value; no error with one group, or if f lacks a value without some group.
std::optional<Average> jackknife_over_groups(
    const std::vector<std::vector<double>>& values, std::int64_t samples_per_stream,
    const std::function<std::optional<double>(std::span<const double> means)>& f);

/// The correlation of the overlap field, C4(r) = [q(x) q(x + r e)], by r = 0 .. L/2: over sites, axes, pairs of
/// replicas and samples; and the coherence length that it has.
struct Correlations {
  std::vector<Average> c4;
  std::optional<Average> xi_12;
  friend bool operator==(const Correlations&, const Correlations&) = default;
};

/// The coherence length xi_12 = I_2 / I_1, I_k = the integral of r^k C4(r) from 0 to L/2 (Belletti et al., J. Stat.
/// Phys. 135 (2009) 1121, arXiv:0811.2864), by the trapezoidal rule. r^2 C4(r) gives the noise at large r a weight that
/// it must not have, so, as there, C4 is taken as measured only where it is well known: below the cutoff. From there on
/// it is replaced by A r^-0.4 exp(-(r / R)^1.5), fitted by weighted least squares to its logarithm from r = 3, or from
/// 1 if that leaves fewer than three distances, up to the cutoff. Without three distances, or if the fit does not
/// decay, nothing is added. `errors` give the fit its weights; empty: all weigh the same. Nothing if I_1 is not
/// positive.
std::optional<double> coherence_length(std::span<const double> c4, std::span<const double> errors, std::int64_t cutoff);

/// The first r at which C4 is less than three times its error, or not positive where there are no errors; L/2 + 1 if
/// there is none.
std::int64_t coherence_cutoff(const std::vector<Average>& c4);

/// Collects the averages of one measuring time.
class Averager {
 public:
  explicit Averager(const Problem& problem)
      : size_(problem.size), sites_(sites(problem)), samples_per_stream_(problem.samples_per_stream) {}

  /// Samples come in their order.
  void add(const SampleObservables& sample);
  Averages averages() const;
  /// Nothing if the samples came without their correlations. The cutoff, and the weights of the fit, are those of all
  /// samples also where the jackknife leaves some out.
  std::optional<Correlations> correlations() const;

 private:
  std::int64_t size_;
  std::int64_t sites_;
  std::int64_t samples_per_stream_;
  std::array<std::vector<double>, averaged_names.size()> values_;  ///< [quantity][sample]
  std::vector<std::vector<double>> c4_;                            ///< [r][sample]; empty unless they are measured
};

}  // namespace psflip::spin_glass
