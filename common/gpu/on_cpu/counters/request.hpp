/// A request: what the lanes of a warp ask for by one instruction, and what it costs the memory that it goes to. As on
/// NVIDIA's GPUs since 2017.
#pragma once

#include <array>
#include <cstdint>

namespace cuda_on_cpu::counters {

inline constexpr unsigned lanes_per_warp = 32;
inline constexpr unsigned sector_bytes = 32;  ///< the unit in which caches and memory deal
inline constexpr unsigned banks = 32;         ///< of shared memory
inline constexpr unsigned bank_bytes = 4;     ///< that a bank gives in one wavefront

/// Every active lane asks for the same number of bytes: 1, 2, 4, 8 or 16.
struct Request {
  std::uint32_t active = 0;  ///< bit k: lane k takes part
  std::uint32_t step = 0;    ///< how many accesses the first of them had done in the block before
  std::array<std::uintptr_t, lanes_per_warp> address;
};

/// The pieces of 32 bytes that a request touches, in ascending order, each once.
struct Sectors {
  std::array<std::uintptr_t, 2 * lanes_per_warp> number;  ///< address / 32
  unsigned count = 0;
  unsigned least = 0;  ///< that could hold as many different bytes
};
Sectors sectors_of(const Request& request, unsigned bytes);

/// How often shared memory has to be read or written for a request.
struct Wavefronts {
  unsigned count = 0;
  unsigned conflicts = 0;  ///< wavefronts more than if no two lanes wanted different words of a bank
};
/// A wavefront serves 32 lanes of up to 4 bytes, 16 of 8, or 8 of 16, and of each bank one word, to however many lanes.
/// Lanes that write the same word do not collide. That atomics on the same word wait for each other is left out.
Wavefronts wavefronts_of(const Request& request, unsigned bytes);

}  // namespace cuda_on_cpu::counters
