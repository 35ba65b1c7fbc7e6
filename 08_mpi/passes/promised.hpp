/// What the tests may ask of passes.cu.
#pragma once

#include <cstdint>

#include "spin_glass/engine/launch.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {

/// Whether so many ranks have the kernel `overlapped` for the problem, in words of as many samples as the launch has.
inline bool promises_passes(const Problem& problem, const Launch& launch, int ranks) {
  const auto filled = [&](std::int64_t bits) {  // 16 bytes, by replicas
    return launch.samples_per_word.value_or(bits) == bits && (bits == 32 || problem.samples_per_stream % bits == 0) &&
           problem.replicas % (128 / bits) == 0;
  };
  return problem.generator == Generator::philox && problem.size / 2 / ranks >= 2 &&
         (filled(32) || filled(64) || filled(128));
}

}  // namespace psflip::spin_glass
