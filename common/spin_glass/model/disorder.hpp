/// Couplings and starts, one element at a time: hashed from the seed, so that host and kernels compute the same ones.
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/host_device.hpp"
#include "random/streams.hpp"

namespace psflip::spin_glass {

/// A probability p, 0 to 1, in units of 2^-53: u < units_of_probability(p) for a fraction p of all u < 2^53.
inline std::uint64_t units_of_probability(double p) { return static_cast<std::uint64_t>(std::ceil(p * 0x1p53)); }

/// Whether a bond of a sample has J = +1. Bond 3 s + d joins site s to its neighbour in direction +d (d = 0, 1, 2).
PSFLIP_HOST_DEVICE constexpr bool is_ferromagnetic(const Origin& origin, std::int64_t sample, std::int64_t bond,
                                                   std::uint64_t probability_units) {
  return hash(origin.seed, Purpose::couplings, origin.sample + sample, bond) >> 11 < probability_units;
}

/// Whether a site of a replica is up in the random start.
PSFLIP_HOST_DEVICE constexpr bool starts_up(const Origin& origin, std::int64_t sample, std::int64_t replica,
                                            std::int64_t site) {
  return mix(hash(origin.seed, Purpose::start, origin.sample + sample, replica) + site) >> 63 != 0;
}

}  // namespace psflip::spin_glass
