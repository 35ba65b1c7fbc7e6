/// Runs clusters of thread blocks, and cooperative grids.
///
/// Each block of a cluster has a host thread of its own, so that its __shared__ variables, which are thread_local, are
/// its own too. But the blocks take turns: one runs until none of its threads can go on, then the next, in the order of
/// the schedule. When none can, the cluster's barrier opens, or there is a deadlock. So what a mistake does is not left
/// to chance. A cooperative grid is run as one cluster; a thread that reads an atomic there lets all others go on
/// first, for it may be one that another block has to write.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "block.hpp"

namespace cuda_on_cpu {

inline constexpr unsigned portable_cluster_blocks = 8;  ///< largest cluster without opt-in
inline constexpr unsigned max_cluster_blocks = 16;      ///< as on compute capability 9.0

/// How many threads a cooperative grid may have.
std::uint64_t most_cooperative_threads();

/// How many clusters run at once: one a worker, unless that is too many CUDA threads for the host.
unsigned clusters_at_once(std::uint64_t threads_in_cluster);

/// Runs one cluster after the other.
class ClusterRunner {
 public:
  /// That many of them, for the grid that runs now. They are kept for the next one.
  static const std::vector<std::unique_ptr<ClusterRunner>>& take(unsigned count);

  ClusterRunner();
  ~ClusterRunner();

  /// Before the first cluster of a launch.
  void begin_launch(const Grid& grid);
  /// Runs the blocks of the cluster whose first block has this index.
  void run(uint3 first_block);
  void end_launch();

 private:
  class HostThread;

  uint3 extent_{};
  std::vector<std::unique_ptr<HostThread>> host_threads_;  // by rank
  Cluster cluster_;
  std::mt19937_64 random_;
};

}  // namespace cuda_on_cpu
