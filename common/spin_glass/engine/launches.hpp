/// What the launches of all stages of the 3D model have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "gpu/free_memory.hpp"
#include "spin_glass/engine/offer.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// Throws InvalidInput if an engine that needs so many bytes does not fit into the device's free memory.
inline void refuse_large_problem(const spin_glass::Problem& problem, const spin_glass::Launch& launch,
                                 double bytes_needed) {
  CHECK_CUDA(cudaSetDevice(launch.device));
  refuse_more_than_there_is(bytes_needed, "--size " + std::to_string(problem.size) + " with " +
                                              std::to_string(problem.samples) + " samples of " +
                                              std::to_string(problem.replicas) + " replicas");
}

/// Samples lie along a dimension of the grid that counts to 65535; beyond it the kernel loops.
inline unsigned grid_samples(std::int64_t samples) {
  return static_cast<unsigned>(std::min<std::int64_t>(samples, 65535));
}

}  // namespace psflip::PSFLIP_PLATFORM
