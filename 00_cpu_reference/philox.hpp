/// Philox4x32-10 of Salmon, Moraes, Dror and Shaw (SC 2011): a hash instead of a state.
#pragma once

#include <array>
#include <cstdint>

namespace psflip::reference {

/// Four random words for every counter and key. Ten rounds; in each, two products of 32 x 32 bits are cut into halves
/// that change places, and the key moves on by two odd constants.
inline std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = std::uint64_t{0xd2511f53} * counter[0];
    const std::uint64_t product_2 = std::uint64_t{0xcd9e8d57} * counter[2];
    const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
    const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
    counter = {high(product_2) ^ counter[1] ^ key[0], low(product_2), high(product_0) ^ counter[3] ^ key[1],
               low(product_0)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return counter;
}

}  // namespace psflip::reference
