/// One bit, one sample: how the spins and couplings of many samples are packed into words.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/host_device.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::amsc {

/// Bit b of a word belongs to sample b of the word: the same site of 32 samples lies in one 32-bit unit, and a word of
/// k = 32, 64 or 128 samples is `units` of them side by side. The samples of a word share their random numbers, so a
/// word never holds samples of two groups; the last word of a group may have bits that belong to no sample.
///
/// An element is what a layout (spin_glass/model/geometry.hpp) numbers: one site of a colour. For spins it holds
/// `interleaved` replicas, of `units` words each, so that a thread moves them at once; for couplings `units` words.
struct Packing {
  std::int64_t samples;             ///< M
  std::int64_t samples_per_stream;  ///< W
  std::int64_t half;                ///< sites of one colour
  int replicas;                     ///< R
  int units;                        ///< 32-bit units in a word: 1, 2 or 4
  int interleaved;                  ///< replicas in an element
  int temperatures = 1;             ///< of a ladder

  using Unit = std::uint32_t;
  static constexpr int bits = 32;

  /// Words in which the samples of a full group lie.
  PSFLIP_HOST_DEVICE constexpr std::int64_t words_per_group() const {
    return (samples_per_stream - 1) / (bits * units) + 1;
  }
  /// Words in which all samples lie.
  PSFLIP_HOST_DEVICE constexpr std::int64_t words() const { return unit_of(samples - 1) / units + 1; }

  /// The first sample of unit number `unit` = units * word + (0 .. units - 1), and how many samples it has: 0 to 32.
  PSFLIP_HOST_DEVICE constexpr std::int64_t first_sample(std::int64_t unit) const {
    const std::int64_t units_per_group = units * words_per_group(), group = unit / units_per_group;
    return group * samples_per_stream + (unit - group * units_per_group) * bits;
  }
  PSFLIP_HOST_DEVICE constexpr int samples_in(std::int64_t unit) const {
    const std::int64_t first = first_sample(unit), group = unit / (units * words_per_group());
    const std::int64_t of_group = (group + 1) * samples_per_stream;
    const std::int64_t end = samples < of_group ? samples : of_group;
    return static_cast<int>(end <= first ? 0 : end - first < bits ? end - first : bits);
  }

  /// Where a sample lies: the unit and the bit in it.
  PSFLIP_HOST_DEVICE constexpr std::int64_t unit_of(std::int64_t sample) const {
    const std::int64_t group = sample / samples_per_stream;
    return group * units * words_per_group() + (sample - group * samples_per_stream) / bits;
  }
  PSFLIP_HOST_DEVICE constexpr int bit_of(std::int64_t sample) const {
    return static_cast<int>(sample % samples_per_stream % bits);
  }

  /// Elements of spins that hold all replicas of a site and word.
  PSFLIP_HOST_DEVICE constexpr int bundles() const { return (replicas - 1) / interleaved + 1; }

  /// In units: the spins of one replica, element i, in the array of a colour, [word][bundle][i][replica in it][unit].
  PSFLIP_HOST_DEVICE constexpr std::int64_t spin(std::int64_t unit, int replica, std::int64_t i) const {
    const std::int64_t word = unit / units;
    const int bundle = replica / interleaved;
    return (((word * bundles() + bundle) * half + i) * interleaved + (replica - bundle * interleaved)) * units +
           (unit - word * units);
  }
  /// In units: the couplings in one direction of element i, [word][i][unit].
  PSFLIP_HOST_DEVICE constexpr std::int64_t coupling(std::int64_t unit, std::int64_t i) const {
    const std::int64_t word = unit / units;
    return (word * half + i) * units + (unit - word * units);
  }

  PSFLIP_HOST_DEVICE constexpr std::int64_t spin_units() const {
    return words() * bundles() * half * interleaved * units;
  }
  PSFLIP_HOST_DEVICE constexpr std::int64_t coupling_units() const { return words() * half * units; }
};

inline Packing packing(const spin_glass::Problem& problem, int samples_per_word, int interleaved) {
  return {problem.samples,
          problem.samples_per_stream,
          sites(problem) / 2,
          static_cast<int>(problem.replicas),
          samples_per_word / Packing::bits,
          interleaved,
          static_cast<int>(temperatures(problem))};
}

}  // namespace psflip::amsc
