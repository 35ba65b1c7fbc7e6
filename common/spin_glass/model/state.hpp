#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {

/// The spins of all samples and replicas in the canonical order: samples outermost, then replicas, then the sites in
/// the order of s.
struct State {
  std::int64_t size = 0;
  std::int64_t samples = 0;
  std::int64_t replicas = 0;
  std::vector<Spin> spins;

  std::span<const Spin> of(std::int64_t sample, std::int64_t replica) const {
    const std::int64_t sites = size * size * size;
    return std::span(spins).subspan((sample * replicas + replica) * sites, sites);
  }
  friend bool operator==(const State&, const State&) = default;
};

}  // namespace psflip::spin_glass
