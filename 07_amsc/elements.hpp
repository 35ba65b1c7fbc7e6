/// What the fast kernels do with 16 bytes of spins, the couplings of their samples, and the draws for them.
#pragma once

#include <cstdint>

#include "06_prng/generators/generator.hpp"
#include "07_amsc/metropolis.hpp"
#include "07_amsc/spins.hpp"
#include "gpu/check.hpp"
#include "spin_glass/model/geometry.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// The next draws of a stream, so many of them. Generators make four at a time sooner than one by one.
template <int many, class Stream>
__device__ void draw(Stream& stream, std::uint32_t (&draws)[many]) {
  if constexpr (many % 4 == 0 && requires(Words<1>(&words)[many]) { stream.draw_several(words); }) {
    Words<1> words[many];
    stream.draw_several(words);
    for (int i = 0; i < many; ++i) draws[i] = words[i].of[0];
  } else {
    for (int i = 0; i < many; ++i) draws[i] = stream.draw().of[0];
  }
}

/// The new spins of an element. One draw for each of its replicas, of which `first` is the number of the first.
template <int units, int interleaved>
__device__ Spins<units, interleaved> updated(const Spins<units, interleaved>& spins,
                                             const Spins<units, interleaved> (&around)[spin_glass::directions],
                                             const Bonds<units> (&bonds)[spin_glass::directions],
                                             const std::uint32_t (&draws)[interleaved],
                                             const spin_glass::ReplicaThresholds& thresholds, int first) {
  Spins<units, interleaved> result;
#pragma unroll
  for (int replica = 0; replica < interleaved; ++replica) {
    const amsc::Help help = amsc::help(draws[replica], thresholds[first + replica]);
#pragma unroll
    for (int unit = 0; unit < units; ++unit) {
      const int word = replica * units + unit;
      std::uint32_t neighbours[spin_glass::directions], couplings[spin_glass::directions];
#pragma unroll
      for (int d = 0; d < spin_glass::directions; ++d) {
        neighbours[d] = around[d].of[word];
        couplings[d] = bonds[d].of[unit];
      }
      result.of[word] = amsc::updated(spins.of[word], neighbours, couplings, help);
    }
  }
  return result;
}

/// Division by a number that is the same for all threads: n / divisor for n * divisor < 2^32 and a divisor
/// from 2, by one multiplication.
struct Divisor {
  explicit Divisor(int divisor) : factor(static_cast<std::uint32_t>((std::uint64_t{1} << 32) / divisor + 1)) {}
  __device__ int quotient(int n) const { return static_cast<int>(std::uint64_t{factor} * n >> 32); }
  std::uint32_t factor;
};

}  // namespace psflip::PSFLIP_PLATFORM
