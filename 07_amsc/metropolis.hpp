/// The update of stage 07 in as few operations as there are known: 14 of three inputs for 32 samples.
#pragma once

#include <cstdint>

#include "gpu/host_device.hpp"
#include "spin_glass/model/geometry.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::amsc {

/// How many of the three thresholds exceed a draw, 0 to 3; the same for all samples of a word. A site flips if this and
/// its unsatisfied bonds are three or more: three need no draw, two cost 4 and need one threshold, one costs 8 and
/// needs two, none costs 12 and needs all three.
struct Help {
  bool some;                     ///< not 0
  std::uint32_t not_one, three;  ///< all ones if true, else all zeros
};

PSFLIP_HOST_DEVICE inline Help help(std::uint32_t draw, const spin_glass::Thresholds& thresholds) {
  // Thresholds fall with the cost: below that of 12 is below all.
  const bool for_4 = draw < thresholds.of[2], for_8 = draw < thresholds.of[1], for_12 = draw < thresholds.of[0];
  return {for_4, for_8 || !for_4 ? ~0u : 0u, for_12 ? ~0u : 0u};
}

/// Any function of three words, bit by bit, is one operation on a GPU (LOP3, with the function's truth table). It is
/// named here because nvcc, left alone, takes sums apart where a word is all zeros or all ones, and needs more.
template <class Function>
PSFLIP_HOST_DEVICE inline std::uint32_t by_bits(Function function, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#ifdef __CUDA_ARCH__
  constexpr int table = Function{}(0xf0, 0xcc, 0xaa);  // of a, b and c in all eight combinations
  std::uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(a), "r"(b), "r"(c), "n"(table & 0xff));
  return result;
#else
  return function(a, b, c);
#endif
}
PSFLIP_HOST_DEVICE inline std::uint32_t parity(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return by_bits([](auto x, auto y, auto z) { return x ^ y ^ z; }, a, b, c);
}
PSFLIP_HOST_DEVICE inline std::uint32_t majority(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return by_bits([](auto x, auto y, auto z) { return (x & y) | (z & (x | y)); }, a, b, c);
}

/// a | b | c if the condition is true: one operation under a predicate, not a second one to choose.
PSFLIP_HOST_DEVICE inline std::uint32_t any_if(bool condition, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                               std::uint32_t otherwise) {
#ifdef __CUDA_ARCH__
  if (condition) asm volatile("lop3.b32 %0, %1, %2, %3, 0xfe;" : "=r"(otherwise) : "r"(a), "r"(b), "r"(c));
  return otherwise;
#else
  return condition ? a | b | c : otherwise;
#endif
}

/// The new spin where ones_a + ones_b + 2 (twos_a + twos_b) bonds are unsatisfied.
PSFLIP_HOST_DEVICE inline std::uint32_t updated(std::uint32_t spin, std::uint32_t ones_a, std::uint32_t twos_a,
                                                std::uint32_t ones_b, std::uint32_t twos_b, const Help& help) {
  // Without help three are needed: two of the twos, or a two and a one. With 1, two are: any two, or both ones. With 2,
  // one is: any of the four. (By machine: 07_amsc/operations.)
  const std::uint32_t third = majority(ones_a, ones_b, help.not_one);  // any of the ones; with 1, both
  const std::uint32_t two = majority(twos_a, twos_b, third);
  const std::uint32_t flips = any_if(help.some, twos_a, twos_b, third, two);
  return by_bits([](auto a, auto b, auto c) { return a ^ (b | c); }, spin, flips, help.three);
}

/// The new spins of a site in 32 samples: `around` are its neighbours, `coupling` its bonds, 1 = antiferromagnetic.
PSFLIP_HOST_DEVICE inline std::uint32_t updated(std::uint32_t spin,
                                                const std::uint32_t (&around)[spin_glass::directions],
                                                const std::uint32_t (&coupling)[spin_glass::directions],
                                                const Help& help) {
  std::uint32_t u[spin_glass::directions] = {};  // unsatisfied bonds
  for (int d = 0; d < spin_glass::directions; ++d) u[d] = parity(spin, around[d], coupling[d]);
  return updated(spin, parity(u[0], u[1], u[2]), majority(u[0], u[1], u[2]), parity(u[3], u[4], u[5]),
                 majority(u[3], u[4], u[5]), help);
}

/// The same where every bit has a draw of its own: which of them accept what costs 4, 8 and 12. Who accepts 12 need not
/// accept 8 (07_amsc/synchronous), so these do not add up to a number, and it takes four operations more.
struct HelpOfBits {
  std::uint32_t for_4, for_8, for_12;
};

PSFLIP_HOST_DEVICE inline std::uint32_t updated(std::uint32_t spin,
                                                const std::uint32_t (&around)[spin_glass::directions],
                                                const std::uint32_t (&coupling)[spin_glass::directions],
                                                const HelpOfBits& help) {
  std::uint32_t u[spin_glass::directions] = {};  // unsatisfied bonds
  for (int d = 0; d < spin_glass::directions; ++d) u[d] = parity(spin, around[d], coupling[d]);
  const std::uint32_t ones_a = parity(u[0], u[1], u[2]), twos_a = majority(u[0], u[1], u[2]);
  const std::uint32_t ones_b = parity(u[3], u[4], u[5]), twos_b = majority(u[3], u[4], u[5]);
  const std::uint32_t odd = by_bits([](auto a, auto b, auto) { return a ^ b; }, ones_a, ones_b, 0u);
  const std::uint32_t twos_c = by_bits([](auto a, auto b, auto) { return a & b; }, ones_a, ones_b, 0u);
  const std::uint32_t many = majority(twos_a, twos_b, twos_c);  // four unsatisfied or more
  const std::uint32_t two = by_bits([](auto a, auto b, auto c) { return a | b | c; }, twos_a, twos_b, twos_c);
  const auto choose = [](auto a, auto b, auto c) { return (a & b) | (~a & c); };                          // a ? b : c
  const std::uint32_t of_two = by_bits([](auto a, auto b, auto) { return a | b; }, odd, help.for_4, 0u);  // or three
  const std::uint32_t of_less = by_bits(choose, odd, help.for_8, help.for_12);
  const std::uint32_t few = by_bits(choose, two, of_two, of_less);
  return by_bits([](auto a, auto b, auto c) { return a ^ (b | c); }, spin, many, few);
}

}  // namespace psflip::amsc
