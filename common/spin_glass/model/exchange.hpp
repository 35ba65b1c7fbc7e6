/// Replica exchange (parallel tempering): which replicas change places, to the bit.
///
/// Exchange number e = 0, 1, ... comes after sweep (e + 1) * exchange_every and belongs to it. It is offered to the
/// pairs of neighbouring temperatures (t, t + 1) with t = e mod 2, e mod 2 + 2, ..., in every sample and copy. With
/// their energies E and inverse temperatures b it is accepted with probability min(1, exp((b_t - b_t+1)(E_t - E_t+1))):
/// if E_t >= E_t+1, or if a draw is less than a threshold. The draw is a word of the mixing function, of the sample,
/// the replica at T_t and e: no two pairs share one, nor do samples that share their draws otherwise.
///
/// A flip changes E by a multiple of 4, so do two replicas of a sample differ by one. The thresholds of a pair are a
/// table by E_t+1 - E_t = 4, 8, 12, ..., made once, by whole numbers alone; energies are whole numbers. So nothing is
/// rounded where it is decided, and no machine decides differently.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/host_device.hpp"
#include "random/streams.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {

/// The thresholds of all pairs, one table after the other: number m - 1 of a pair's is for E_t+1 - E_t = 4 m. What the
/// table does not have is never accepted.
struct ExchangeThresholds {
  std::vector<std::uint64_t> of;
  std::vector<std::int64_t> first;  ///< where the table of pair t begins; one more, the end

  /// That of a problem with a ladder. Threshold m is q^m, q = exp(-4 (b_t - b_t+1)), in units of 2^-64: products of
  /// whole numbers, rounded down.
  explicit ExchangeThresholds(const Problem& problem);
};

/// The same where a kernel finds it.
struct ExchangeTable {
  const std::uint64_t* of;
  const std::int64_t* first;

  /// Whether an exchange of temperatures t and t + 1 is accepted.
  PSFLIP_HOST_DEVICE bool accepts(int t, std::int64_t colder_energy, std::int64_t warmer_energy,
                                  std::uint64_t draw) const {
    if (colder_energy >= warmer_energy) return true;
    const std::int64_t at = first[t] + (warmer_energy - colder_energy) / 4 - 1;
    return at < first[t + 1] && draw < of[at];
  }
};

/// What decides exchange number e of a replica, sample * replicas + replica = lattice, with the next warmer one.
PSFLIP_HOST_DEVICE constexpr std::uint64_t exchange_draw(std::uint64_t seed, std::int64_t lattice, std::int64_t e) {
  return hash(seed, Purpose::exchange, static_cast<std::uint64_t>(lattice), static_cast<std::uint64_t>(e));
}
/// The same of a run's lattice, of so many replicas a sample.
PSFLIP_HOST_DEVICE constexpr std::uint64_t exchange_draw(const Origin& origin, std::int64_t replicas,
                                                         std::int64_t lattice, std::int64_t e) {
  return exchange_draw(origin.seed, origin.sample * replicas + lattice, e);
}

/// The number of the exchange that comes after so many half-sweeps.
inline std::optional<std::int64_t> exchange_after(const Ladder& ladder, std::int64_t half_sweeps) {
  if (!ladder || half_sweeps == 0 || half_sweeps % (2 * ladder.exchange_every) != 0) return std::nullopt;
  return half_sweeps / (2 * ladder.exchange_every) - 1;
}
/// The half-sweeps at the first exchange after so many.
inline std::int64_t next_exchange(const Ladder& ladder, std::int64_t half_sweeps) {
  return (half_sweeps / (2 * ladder.exchange_every) + 1) * 2 * ladder.exchange_every;
}

/// So many temperatures from lowest to highest with alike acceptances. To the first order in the distance of T and T'
/// the mean of (b - b')(E' - E) is N c (ln T' - ln T)^2, and how often an exchange is accepted depends on that alone.
/// So the integral of sqrt(c) d ln T is the same between all neighbours. c(T) is that of random couplings, +1 as often
/// as -1: measured, known from lowest_known_temperature on, and taken to be the same for every L.
std::vector<double> even_temperatures(double lowest, double highest, std::int64_t count);
inline constexpr double lowest_known_temperature = 0.4;

// ---- Who goes: a walker is what changes places, 4 * its round trips + where it was last.

inline constexpr std::uint32_t nowhere_yet = 0, was_coldest = 1, was_warmest = 2;

constexpr std::uint32_t first_walker(std::int64_t t) { return t == 0 ? was_coldest : nowhere_yet; }
/// A walker that has come to temperature t of n. A round trip is one from the coldest to the warmest and back.
PSFLIP_HOST_DEVICE constexpr std::uint32_t arrived(std::uint32_t walker, int t, int n) {
  const std::uint32_t was = walker % 4;
  if (t == 0) return walker - was + (was == was_warmest ? 4 : 0) + was_coldest;
  if (t == n - 1 && was == was_coldest) return walker - was + was_warmest;
  return walker;
}
constexpr std::uint32_t round_trips(std::uint32_t walker) { return walker / 4; }

/// What a device decides exchange number e by, and what comes of it.
struct Decisions {
  ExchangeTable table;
  Origin origin;
  std::int64_t e;
  int temperatures;  ///< n
  std::int64_t sites;
  const unsigned long long* unsatisfied;  ///< bonds, [unit][replica][bit]
  std::uint32_t *accepted, *walkers;      ///< [sample * replicas + replica]

  /// A lattice, sample * replicas + replica, changes places with the next, at temperatures t and t + 1.
  PSFLIP_HOST_DEVICE void note(std::int64_t lattice, int t) const {
    const std::uint32_t warming = walkers[lattice], cooling = walkers[lattice + 1];
    walkers[lattice] = arrived(cooling, t, temperatures);
    walkers[lattice + 1] = arrived(warming, t + 1, temperatures);
    ++accepted[lattice];
  }
};

/// The pairs that exchange number e is offered to, over all copies, and the colder replica of one of them.
struct OfferedPairs {
  int temperatures, parity, of_copy, all;

  PSFLIP_HOST_DEVICE OfferedPairs(int n, int replicas, std::int64_t e)
      : temperatures(n), parity(static_cast<int>(e % 2)), of_copy((n - parity) / 2), all(of_copy * (replicas / n)) {}
  PSFLIP_HOST_DEVICE int colder(int pair) const {
    return pair / of_copy * temperatures + 2 * (pair % of_copy) + parity;
  }
};

/// The walkers of all replicas at the start.
std::vector<std::uint32_t> first_walkers(const Problem& problem);

}  // namespace psflip::spin_glass
