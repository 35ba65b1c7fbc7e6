/// What is measured on a state: whole numbers, so that they can be compared bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spin_glass/model/problem.hpp"
#include "spin_glass/model/state.hpp"

namespace psflip::spin_glass {

/// H = - sum over all bonds of J s s', from -3 L^3 to 3 L^3. `spins`: the L^3 spins of one lattice, `couplings`: the
/// 3 L^3 of its sample, both as in problem.hpp; size = L.
std::int64_t energy(std::int64_t size, std::span<const Spin> spins, std::span<const Coupling> couplings);

/// The sum of all spins.
std::int64_t magnetisation(std::span<const Spin> spins);

/// The sum over all sites of s_a s_b: two replicas of one sample, of equal size.
std::int64_t overlap(std::span<const Spin> a, std::span<const Spin> b);

/// The pairs of replicas (a, b), a < b, in the order (0, 1), (0, 2), ..., (1, 2), ...: their number, and a pair's
/// place.
constexpr std::int64_t pairs(std::int64_t replicas) { return replicas * (replicas - 1) / 2; }
constexpr std::int64_t pair_index(std::int64_t replicas, std::int64_t a, std::int64_t b) {
  return a * (2 * replicas - a - 1) / 2 + b - a - 1;
}

/// Overlaps are those of replicas at the same temperature: of all pairs without a ladder; with n temperatures of the
/// copies a and b at temperature t, number pair_index(copies, a, b) * n + t.
constexpr std::int64_t overlaps(std::int64_t replicas, std::int64_t temperatures) {
  return pairs(replicas / temperatures) * temperatures;
}
inline std::int64_t overlaps(const Problem& problem) { return overlaps(problem.replicas, temperatures(problem)); }

/// The observables of one sample.
struct SampleObservables {
  std::vector<std::int64_t> energies;        ///< [replica]
  std::vector<std::int64_t> magnetisations;  ///< [replica]
  std::vector<std::int64_t> overlaps;        ///< in the order of overlaps()
  /// [overlap * distances(L) + r]: the sum over all sites x and the three axes e of q(x) q(x + r e), q(x) = s_a(x)
  /// s_b(x), r = 0 .. L/2; 3 L^3 for r = 0. Empty unless asked for.
  std::vector<std::int64_t> correlations{};
  // With a ladder, of each overlap:
  std::vector<std::int64_t> links{};   ///< the sum over all bonds of q(x) q(x')
  std::vector<std::int64_t> planes{};  ///< [overlap][axis][L]: the sites of a plane x, y or z = const. with q = -1
  friend bool operator==(const SampleObservables&, const SampleObservables&) = default;
};

/// Those of a sample without links and planes as numbers, one after the other, with or without correlations: how many
/// there are; each; and back.
std::int64_t numbers_of_sample(const Problem& problem, bool correlations);
template <class F>
void for_each_number(const SampleObservables& of, bool correlations, F f) {
  for (const auto* numbers : {&of.energies, &of.magnetisations, &of.overlaps, &of.correlations})
    if (correlations || numbers != &of.correlations)
      for (const std::int64_t number : *numbers) f(number);
}
SampleObservables sample_of(const Problem& problem, std::span<const std::int64_t> numbers);

/// How many distances the correlations have: r = 0 .. L/2.
constexpr std::int64_t distances(std::int64_t size) { return size / 2 + 1; }

/// The sums over all sites and axes of q(x) q(x + r e), r = 0 .. L/2, of two replicas of one sample.
std::vector<std::int64_t> overlap_correlations(std::int64_t size, std::span<const Spin> a, std::span<const Spin> b);

/// `couplings` are those of the sample.
SampleObservables observe(const State& state, std::int64_t sample, std::span<const Coupling> couplings,
                          bool correlations = false);

/// The canonical hash (app/state_hash.hpp), over the spins in the order of State.
std::uint64_t state_hash(const State& state);

/// The same hash over a problem's couplings: samples outermost, then as sample_couplings() orders them, 1 for J = +1.
std::uint64_t couplings_hash(const Problem& problem);

}  // namespace psflip::spin_glass
