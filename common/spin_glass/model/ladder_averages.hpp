/// Averages of a run with a ladder of temperatures: over time first, in bins that double, then over samples.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "spin_glass/model/averages.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/model/problem.hpp"
#include "spin_glass/model/state.hpp"

namespace psflip::spin_glass {

/// What is averaged at each temperature. <> is the mean over the measurements of a bin and over copies, [] that over
/// samples; N = L^3, b the inverse temperature.
///   e            [<e>], the energy per site
///   c            the specific heat b^2 N ([<e^2>] - [<e>^2]), where the square is <e> of one copy times that of
///   another:
///                else it would be too large in short bins. With one copy it is its own.
///   c_derivative the same as - b^2 de/db, of a parabola through e(b) of three neighbouring temperatures: c but for
///                what the distance of temperatures does, if the bin is in equilibrium
///   abs_q, q2, q4  [<|q|>], [<q^2>], [<q^4>], q the overlap per site of two copies
///   binder       (3 - [<q^4>] / [<q^2>]^2) / 2
///   chi_sg       the spin-glass susceptibility N [<q^2>]
///   q_link       [<q_l>], the mean of q(x) q(x') over all bonds
///   chi_k        N [<|q(k)|^2>], q(k) = sum q(x) exp(i k x) / N with the least k > 0, 2 pi / L, along each axis
///   xi_l         the correlation length in units of L: sqrt(chi_sg / chi_k - 1) / (2 sin(pi / L)) / L
///   acceptance   of the exchanges with the next warmer temperature that were offered in the bin
///   round_trips  from the coldest to the warmest temperature and back, that walkers have finished in the bin, per
///                walker: a number of the ladder, the same at each temperature
inline constexpr std::array<std::string_view, 13> ladder_names = {
    "e",      "c",      "c_derivative", "abs_q", "q2",         "q4",         "binder",
    "chi_sg", "q_link", "chi_k",        "xi_l",  "acceptance", "round_trips"};

/// Functions of r or q, which are many numbers: only if they are asked for.
struct LadderFunctions {
  bool correlations = false;  ///< C4(r) = [<q(x) q(x + r e)>], r = 0 .. L/2
  bool distribution = false;  ///< P(q)
};

/// P(q) is a histogram of L^2 - L + 1 equal bins of L + 1 values of q: all there are, L^3 + 1, and q = 0 in the middle.
constexpr std::int64_t distribution_bins(std::int64_t size) { return size * size - size + 1; }
/// Where the middle of a bin is, and how wide it is.
constexpr double distribution_width(std::int64_t size) {
  return 2 * static_cast<double>(size + 1) / static_cast<double>(size * size * size);
}
constexpr double distribution_q(std::int64_t size, std::int64_t bin) {
  return static_cast<double>(bin - distribution_bins(size) / 2) * distribution_width(size);
}

/// The averages of one bin at one temperature, in the order of ladder_names; their errors are by the jackknife over
/// groups. Without overlaps, or without offers, there are none.
struct LadderAverages {
  std::int64_t first, last;  ///< sweeps after which the bin measured first and last
  std::int64_t measurements;
  std::int64_t t;
  std::array<std::optional<Average>, ladder_names.size()> averages;
  std::vector<Average> c4{}, p{};  ///< empty unless asked for; p is a density: the sum of p * width is 1
};

/// Collects them. A bin has the measurements after 2^(k-1) + 1 to 2^k sweeps, the first those after none: whoever sees
/// the last bins agree has seen equilibrium, if anything that is measured tells it.
class LadderBins {
 public:
  LadderBins() = default;
  /// `keep`: the numbers of finished bins, too, so that runs of other samples can be joined.
  explicit LadderBins(const Problem& problem, const LadderFunctions& functions = {}, bool keep = false);

  /// A measurement begins, with what exchanges have done until now. If it belongs to the next bin, one is finished.
  void begin(std::int64_t sweep, const Exchanges& exchanges);
  /// Samples come in their order.
  void add(std::int64_t sample, const SampleObservables& observables);
  /// Begins the next bin with numbers() of another run's, of all samples.
  void begin(std::vector<double> numbers);
  /// All bins, the last one perhaps not yet full.
  std::vector<LadderAverages> rows() const;

  /// The bins that are finished, and the numbers that the present one consists of: for a checkpoint.
  const std::vector<LadderAverages>& finished() const { return finished_; }
  std::span<const double> numbers() const { return numbers_; }
  /// The numbers of finished bins, if they are kept.
  const std::vector<std::vector<double>>& kept() const { return kept_; }
  /// How many of those a problem has: of all samples together; then of each, one after the other, so many without
  /// functions; then those of functions, one group after the other.
  static constexpr std::size_t common_numbers() { return of_head; }
  static std::size_t numbers_of(const Problem& problem, const LadderFunctions& functions = {});
  /// Goes on from there. Throws InvalidInput if these cannot be the numbers of a bin.
  void resume(std::vector<LadderAverages> finished, std::vector<double> numbers,
              std::vector<std::vector<double>> kept = {});
  /// The sweep of the last measurement; -1: there was none.
  std::int64_t measured() const { return numbers_.empty() ? -1 : static_cast<std::int64_t>(numbers_[last]); }

 private:
  // numbers_: these, then the sums: [sample][replica] of e, [sample][t] of what Sum says, each a mean over copies
  // or their pairs; then, now and at the end of the bin before, [sample][t] accepted exchanges of all copies, and
  // [sample] round trips. All but the sums are whole. At the end sums over the samples of a group: [group][t] of C4(r)
  // without its factor, then of the pairs of copies by the bin of P(q).
  enum Number { first, last, measurements, before, of_head };  ///< before: the sweep at which the bin before ended
  enum Sum { e2, abs_q, q2, q4, link, wave, sums_of_temperature };

  double* sums(std::int64_t sample) { return numbers_.data() + of_head + sample * of_sample(); }
  const double* sums(std::int64_t sample) const { return numbers_.data() + of_head + sample * of_sample(); }
  std::int64_t of_sample() const { return replicas_ + sums_of_temperature * n_ + 2 * (n_ + 1); }
  std::int64_t functions_at() const { return of_head + samples_ * of_sample(); }
  std::vector<Average> function(std::int64_t t, std::int64_t from, std::int64_t count, double factor) const;
  std::vector<LadderAverages> averages() const;
  void finish();
  /// Throws InvalidInput if these cannot be the numbers of a bin.
  void check(const std::vector<double>& numbers) const;

  std::int64_t size_ = 0, sites_ = 0, samples_ = 0, samples_per_stream_ = 1, replicas_ = 0, n_ = 1, copies_ = 0;
  std::int64_t exchange_every_ = 1, distances_ = 0, bins_ = 0;  ///< of C4 and P, 0: not asked for
  std::vector<double> betas_, cosines_, sines_;                 ///< of k x
  std::vector<LadderAverages> finished_;
  std::vector<double> numbers_;
  bool keep_ = false;
  std::vector<std::vector<double>> kept_;
};

}  // namespace psflip::spin_glass
