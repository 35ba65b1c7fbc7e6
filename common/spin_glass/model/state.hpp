#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {

/// What exchanges of replicas have done so far. Number sample * replicas + replica; empty without a ladder.
struct Exchanges {
  std::vector<std::uint32_t> accepted{};  ///< of a replica with the next warmer one, until now
  std::vector<std::uint32_t> walkers{};   ///< who is there (model/exchange.hpp)
  friend bool operator==(const Exchanges&, const Exchanges&) = default;
};

/// The spins of all samples and replicas in the canonical order: samples outermost, then replicas, then the sites in
/// the order of s.
struct State {
  std::int64_t size = 0;
  std::int64_t samples = 0;
  std::int64_t replicas = 0;
  std::vector<Spin> spins;
  std::int64_t temperatures = 1;  ///< of a ladder: replica c * temperatures + t is at temperature t
  Exchanges exchanges{};

  std::span<const Spin> of(std::int64_t sample, std::int64_t replica) const {
    const std::int64_t sites = size * size * size;
    return std::span(spins).subspan((sample * replicas + replica) * sites, sites);
  }
  friend bool operator==(const State&, const State&) = default;
};

}  // namespace psflip::spin_glass
