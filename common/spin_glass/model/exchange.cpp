#include "spin_glass/model/exchange.hpp"

#include <cmath>

namespace psflip::spin_glass {
namespace {

// Numbers from 0 to 1 in units of 2^-64.
__extension__ using Wide = unsigned __int128;

std::uint64_t product(std::uint64_t a, std::uint64_t b) { return static_cast<std::uint64_t>(Wide{a} * b >> 64); }

/// exp(-y), y > 0: the series where it is short, then squares. 1 is 2^64, which is 0, until the first term is taken
/// away.
std::uint64_t exp_of_minus(double y) {
  int halvings = 0;
  for (; y > 0.5; y /= 2) ++halvings;
  const auto x = static_cast<std::uint64_t>(std::ldexp(y, 64));
  std::uint64_t sum = 0, term = x;
  for (std::uint64_t i = 1; term > 0; ++i, term = product(term, x) / i) sum += i % 2 == 1 ? -term : term;
  for (; halvings > 0; --halvings) sum = product(sum, sum);
  return sum;
}

}  // namespace

ExchangeThresholds::ExchangeThresholds(const Problem& problem) {
  const std::int64_t most = 6 * sites(problem) / 4;  // from the least energy that there can be to the greatest
  for (std::int64_t t = 0; t + 1 < temperatures(problem); ++t) {
    first.push_back(std::ssize(of));
    const std::uint64_t q = exp_of_minus(4 * (beta_of(problem, t) - beta_of(problem, t + 1)));
    std::uint64_t power = q;
    for (std::int64_t m = 1; m <= most && power > 0; ++m, power = product(power, q)) of.push_back(power);
  }
  first.push_back(std::ssize(of));
}

std::vector<std::uint32_t> first_walkers(const Problem& problem) {
  std::vector<std::uint32_t> walkers;
  for (std::int64_t lattice = 0; problem.ladder && lattice < problem.samples * problem.replicas; ++lattice)
    walkers.push_back(first_walker(lattice % problem.replicas % temperatures(problem)));
  return walkers;
}

}  // namespace psflip::spin_glass
