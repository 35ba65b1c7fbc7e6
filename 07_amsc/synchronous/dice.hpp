/// A draw for every bit of a word: the generator philox-planes, as spin_glass/model/problem.hpp defines it.
///
/// The draws of a word's 32 sites are never written down one by one. Eight words of random bits, the planes, are the
/// first eight bits of all of them. What is accepted with the probability threshold / 2^32 is computed by bits as well:
/// a site looks at its first 1, and takes what the threshold has there. Where there is none in eight planes, one site
/// in 256, 24 bits more are compared in the ordinary way.
#pragma once

#include <cstdint>

#include "06_prng/generators/philox.hpp"
#include "07_amsc/metropolis.hpp"
#include "gpu/check.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::amsc {

inline constexpr int planes = 8;
inline constexpr int costs = 3;  ///< 4, 8 and 12

/// What is the same for all draws of a run.
struct Dice {
  prng::PhiloxKeys<10> keys;
  std::uint32_t first_sample;
  std::uint32_t top[costs][planes];  ///< the thresholds' bits from the top, each as a word of 32 of them
  std::uint32_t rest[costs];         ///< and what follows them
  int costs_with_top;                ///< how many of the thresholds are not too small for the planes: 0 to 3

  Dice(const Origin& origin, const spin_glass::Thresholds& thresholds)
      : keys(origin.seed), first_sample(static_cast<std::uint32_t>(origin.sample)), costs_with_top(0) {
    for (int cost = 0; cost < costs; ++cost) {
      const std::uint32_t threshold = thresholds.of[costs - 1 - cost];
      for (int plane = 0; plane < planes; ++plane) top[cost][plane] = 0u - (threshold >> (31 - plane) & 1);
      rest[cost] = threshold << planes;
      if (threshold >> (32 - planes) != 0) costs_with_top = cost + 1;
    }
  }
};

/// Which draws are meant: those of a word in some replicas, from `replica` on, which is a multiple of their number.
struct Throw {
  std::uint32_t word, replica, sweep, sample;
};

/// Which sites of the word accept, in each of `replicas` replicas: 1, 2 or 4. `sites` are those that there are. The
/// thresholds of costs beyond the first `tops` have no bit among the upper eight.
template <int tops, int replicas>
__device__ void throw_dice(const Dice& dice, const Throw& which, std::uint32_t sites,
                           std::uint32_t (&accepted)[costs][replicas]) {
  const std::uint32_t of_sample = 32 * (dice.first_sample + which.sample);
  const auto hash = [&](std::uint32_t replica, std::uint32_t n) {
    return prng::philox4x32({{which.word, replica, which.sweep, n}}, dice.keys);
  };
  std::uint32_t undecided[replicas], left = 0;
#pragma unroll
  for (int r = 0; r < replicas; ++r) {
    const prng::Quadruple first = hash(which.replica + r, of_sample);
    const prng::Quadruple second = hash(which.replica + r, of_sample + 1);
    const std::uint32_t plane[planes] = {first.of[0],  first.of[1],  first.of[2],  first.of[3],
                                         second.of[0], second.of[1], second.of[2], second.of[3]};
    std::uint32_t some = 0;
#pragma unroll
    for (int p = 0; p < planes; ++p) some |= plane[p];
    undecided[r] = ~some & sites;
    left |= undecided[r];
#pragma unroll
    for (int cost = 0; cost < costs; ++cost) {
      accepted[cost][r] = 0;
      if (cost < tops)  // from the last plane to the first, which has the last word
#pragma unroll
        for (int p = planes - 1; p >= 0; --p)
          accepted[cost][r] = by_bits([](auto a, auto b, auto c) { return (a & b) | (~a & c); }, plane[p],
                                      dice.top[cost][p], accepted[cost][r]);
    }
  }
  // Number k is for the k-th undecided site of each word. Every replica has its own quarter of it.
  for (std::uint32_t k = 0; left != 0; ++k) {
    const prng::Quadruple numbers = hash(which.replica / 4, 0x80000000 + of_sample + k);
    left = 0;
#pragma unroll
    for (int r = 0; r < replicas; ++r) {
      const std::uint32_t lowest = undecided[r] & (0u - undecided[r]);  // nothing, if all are decided
      const std::uint32_t number = numbers.of[replicas == 4 ? r : (which.replica + r) % 4];
#pragma unroll
      for (int cost = 0; cost < costs; ++cost)
        accepted[cost][r] = any_if(number < dice.rest[cost], accepted[cost][r], lowest, lowest, accepted[cost][r]);
      undecided[r] ^= lowest;
      left |= undecided[r];
    }
  }
}

}  // namespace psflip::amsc
