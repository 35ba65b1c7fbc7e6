/// A cluster of thread blocks, in its own words and without one: before compute capability 9.0 a block is alone.
#pragma once

#include <cooperative_groups.h>

#include "gpu/check.hpp"

namespace psflip::PSFLIP_PLATFORM {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// The blocks whose shared memory a thread can reach.
class Cluster {
 public:
  static constexpr bool exists = true;
  __device__ int ranks() const { return static_cast<int>(group_.num_blocks()); }
  __device__ int rank() const { return static_cast<int>(group_.block_rank()); }
  /// Where `mine`, in this block's shared memory, lies in that of another.
  template <class T>
  __device__ T* in(int rank, T* mine) const {
    return group_.map_shared_rank(mine, rank);
  }
  /// A barrier for all threads of all blocks, in two halves: between them a thread may do what nobody waits for.
  __device__ void arrive() const { group_.barrier_arrive(); }
  __device__ void wait() const { group_.barrier_wait(); }
  __device__ void sync() const { group_.sync(); }

 private:
  cooperative_groups::cluster_group group_ = cooperative_groups::this_cluster();
};

#else

class Cluster {
 public:
  static constexpr bool exists = false;
  __device__ int ranks() const { return 1; }
  __device__ int rank() const { return 0; }
  template <class T>
  __device__ T* in(int, T* mine) const {
    return mine;
  }
  __device__ void arrive() const {}
  __device__ void wait() const { __syncthreads(); }
  __device__ void sync() const { __syncthreads(); }
};

#endif

}  // namespace psflip::PSFLIP_PLATFORM
