/// MINSTD, the "minimal standard" generator of Park and Miller (CACM 31, 1988): std::minstd_rand0 without a division.
#pragma once

#include <cstdint>

#include "gpu/host_device.hpp"
#include "random/states.hpp"

namespace psflip {

/// One stream. The state runs through 1 .. 2^31 - 2, its period is 2^31 - 2.
struct Minstd {
  static constexpr std::uint32_t modulus = 0x7fffffff;  ///< 2^31 - 1, a prime
  static constexpr std::uint32_t multiplier = 16807;    ///< 7^5

  std::uint32_t state;

  static constexpr int words = 1;    ///< of state
  static constexpr int history = 1;  ///< of them, what the numbers to come depend on
  /// Bytes of state that `draws` numbers in a row move: in once, out once.
  static constexpr double bytes(double /*draws*/) { return 8; }
  /// Puts a stream at its beginning.
  PSFLIP_HOST_DEVICE static void seed(const States& states, std::int64_t id, std::uint64_t stream_seed) {
    states.words[id] = seeded(stream_seed).state;
  }

  /// The stream of std::minstd_rand0(1 + seed mod (2^31 - 2)).
  PSFLIP_HOST_DEVICE static constexpr Minstd seeded(std::uint64_t seed) {
    return {static_cast<std::uint32_t>(1 + seed % (modulus - 1))};
  }

  /// The next number, 0 .. 2^31 - 3.
  PSFLIP_HOST_DEVICE constexpr std::uint32_t draw() {
    // Carta (CACM 33, 1990): 2^31 = 1 modulo 2^31 - 1, so the product's high part may simply be added to its low part.
    const std::uint64_t product = std::uint64_t{multiplier} * state;
    const std::uint32_t sum =
        (static_cast<std::uint32_t>(product) & modulus) + static_cast<std::uint32_t>(product >> 31);
    state = (sum & modulus) + (sum >> 31);
    return state - 1;
  }
};

}  // namespace psflip
