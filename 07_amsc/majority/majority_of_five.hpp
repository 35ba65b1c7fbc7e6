/// The rule on 32 sites at once: bit by bit the majority of five words.
#pragma once

#include <cstdint>

#include "gpu/host_device.hpp"

namespace psflip {

/// Of three bits, what at least two of them are.
PSFLIP_HOST_DEVICE constexpr std::uint32_t majority_of_three(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return (a & b) | (c & (a | b));
}

/// Of five bits, what at least three of them are.
///
/// A full adder makes two bits of the first three, a + b + c = sum + 2 carry. With the carry, one more bit has to be
/// set (sum | d | e), without it all three (sum & d & e). `rest` is one of the two answers' halves, whichever sum
/// leaves open: d & e if sum is set, d | e if not. Each line is one operation of three inputs (LOP3), and
/// majority_of_five_test.cpp tries all circuits of three such operations: none does it, so four are the fewest.
PSFLIP_HOST_DEVICE constexpr std::uint32_t majority_of_five(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                                            std::uint32_t d, std::uint32_t e) {
  const std::uint32_t sum = a ^ b ^ c;
  const std::uint32_t carry = majority_of_three(a, b, c);
  const std::uint32_t rest = majority_of_three(d, e, ~sum);
  return majority_of_three(carry, sum, rest);
}

}  // namespace psflip
