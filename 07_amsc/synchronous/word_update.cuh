/// The update of a word of 32 sites, whichever kernel has found its neighbours.
#pragma once

#include <cstdint>

#include "07_amsc/metropolis.hpp"
#include "07_amsc/synchronous/dice.hpp"
#include "random/states.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// Where a word lies in its row, and how many sites it has.
struct InRow {
  bool first, last;
  int bits;
  std::uint32_t sites;  ///< ones for these
};

/// The word beside a site's own, in direction +x or -x, has its neighbour at the same bit; if it is `beyond` the end of
/// the row, after a rotation by one bit. Bits that are no sites' may be anything. `whole`: words have 32 sites.
template <bool whole>
__device__ std::uint32_t to_the_right(std::uint32_t word, bool beyond, int bits) {
  if constexpr (whole) return __funnelshift_r(word, word, beyond);
  return beyond ? word >> 1 | word << (bits - 1) : word;
}
template <bool whole>
__device__ std::uint32_t to_the_left(std::uint32_t word, bool beyond, int bits) {
  if constexpr (whole) return __funnelshift_l(word, word, beyond);
  return beyond ? word << 1 | word >> (bits - 1) : word;
}

/// The new spins of a word in some replicas. `accepted`: which costs its sites accept in each of them.
template <bool whole, int replicas>
__device__ Words<replicas> updated(Words<replicas> spins, Words<replicas> (&around)[spin_glass::directions],
                                   const std::uint32_t (&bonds)[spin_glass::directions],
                                   const std::uint32_t (&accepted)[amsc::costs][replicas], const InRow& place) {
#pragma unroll
  for (int r = 0; r < replicas; ++r) {
    std::uint32_t of_replica[spin_glass::directions];
#pragma unroll
    for (int d = 0; d < spin_glass::directions; ++d) of_replica[d] = around[d].of[r];
    of_replica[spin_glass::plus_x] = to_the_right<whole>(of_replica[spin_glass::plus_x], place.last, place.bits);
    of_replica[spin_glass::minus_x] = to_the_left<whole>(of_replica[spin_glass::minus_x], place.first, place.bits);
    const amsc::HelpOfBits help{accepted[0][r], accepted[1][r], accepted[2][r]};
    spins.of[r] = amsc::updated(spins.of[r], of_replica, bonds, help) & place.sites;
  }
  return spins;
}

}  // namespace psflip::PSFLIP_PLATFORM
