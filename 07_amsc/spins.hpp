/// What the fast kernels move: 16 bytes of spins, and the couplings of their samples.
#pragma once

#include <cstdint>

#include "gpu/check.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// A site in 32 * units samples and `interleaved` replicas: of[replica * units + unit]. 4, 8 or 16 bytes.
template <int units, int interleaved>
struct alignas(4 * units * interleaved) Spins {
  std::uint32_t of[units * interleaved];
};

/// A bond in 32 * units samples.
template <int units>
using Bonds = Spins<units, 1>;

/// How many replicas fill up 16 bytes.
template <int units>
inline constexpr int filling = 4 / units;

/// An element that nobody writes while the kernel runs, by one load.
template <int units, int interleaved>
__device__ Spins<units, interleaved> fetch(const Spins<units, interleaved>* element) {
  if constexpr (units * interleaved == 4) {
    const uint4 words = __ldg(reinterpret_cast<const uint4*>(element));
    return {{words.x, words.y, words.z, words.w}};
  } else if constexpr (units * interleaved == 2) {
    const uint2 words = __ldg(reinterpret_cast<const uint2*>(element));
    return {{words.x, words.y}};
  } else {
    return {{__ldg(reinterpret_cast<const std::uint32_t*>(element))}};
  }
}

}  // namespace psflip::PSFLIP_PLATFORM
