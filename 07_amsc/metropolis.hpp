/// The update of stage 07 in 16 operations of three inputs for 32 samples (operations/ has forms with 15 and 14).
#pragma once

#include <cstdint>

#include "gpu/host_device.hpp"
#include "spin_glass/model/geometry.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::amsc {

/// How many of the three thresholds exceed a draw, 0 to 3, as two bits, each for all samples of a word alike. A site
/// flips if this and its unsatisfied bonds are three or more: three need no draw, two cost 4 and need one threshold,
/// one costs 8 and needs two, none costs 12 and needs all three.
struct Help {
  std::uint32_t ones, twos;  ///< all zeros or all ones
};

PSFLIP_HOST_DEVICE constexpr Help help(std::uint32_t draw, const spin_glass::Thresholds& thresholds) {
  // Thresholds fall with the cost: below that of 12 is below all.
  const bool for_4 = draw < thresholds.of[2], for_8 = draw < thresholds.of[1], for_12 = draw < thresholds.of[0];
  return {(for_8 ? for_12 : for_4) ? ~0u : 0u, for_8 ? ~0u : 0u};
}

/// One operation on a GPU each (LOP3), and so is any other function of three words, bit by bit.
PSFLIP_HOST_DEVICE constexpr std::uint32_t parity(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return a ^ b ^ c;
}
PSFLIP_HOST_DEVICE constexpr std::uint32_t majority(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return (a & b) ^ (c & (a ^ b));  // of the ways to write it one that nvcc turns into one operation
}

/// The new spins of a site in 32 samples: `around` are its neighbours, `coupling` its bonds, 1 = antiferromagnetic.
PSFLIP_HOST_DEVICE constexpr std::uint32_t updated(std::uint32_t spin,
                                                   const std::uint32_t (&around)[spin_glass::directions],
                                                   const std::uint32_t (&coupling)[spin_glass::directions],
                                                   const Help& help) {
  std::uint32_t u[spin_glass::directions] = {};  // unsatisfied bonds
  for (int d = 0; d < spin_glass::directions; ++d) u[d] = parity(spin, around[d], coupling[d]);
  const std::uint32_t ones_a = parity(u[0], u[1], u[2]), twos_a = majority(u[0], u[1], u[2]);
  const std::uint32_t ones_b = parity(u[3], u[4], u[5]), twos_b = majority(u[3], u[4], u[5]);
  // u + help = ones + 2 (twos_a + twos_b + twos_c + help.twos), and three or more is two of the twos, or one and a one.
  const std::uint32_t ones = parity(ones_a, ones_b, help.ones), twos_c = majority(ones_a, ones_b, help.ones);
  const std::uint32_t two_twos = majority(twos_a, twos_b, twos_c), a_two = twos_a | twos_b | twos_c;
  return spin ^ (two_twos | majority(a_two, help.twos, ones));
}

}  // namespace psflip::amsc
