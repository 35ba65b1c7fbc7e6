/// <cooperative_groups.h> as psFlip's CPU path has it: the running thread block, and its cluster.
///
/// Here it lies in cuda_on_cpu, as everything does, and cooperative_groups:: finds it through <cuda_runtime.h>.
#pragma once

#include <cuda_runtime.h>

namespace cuda_on_cpu::cooperative_groups {

/// The blocks launched together as a cluster (cudaLaunchAttributeClusterDimension); the block alone if there is none.
class cluster_group {
 public:
  struct arrival_token {};

  /// Waits until every thread of the cluster that has not returned is here; orders their accesses to memory.
  static void sync(Where where = Where::current()) {
    barrier_arrive(where);
    barrier_wait(where);
  }
  /// The two halves of sync(). Each thread calls one and then the other.
  static arrival_token barrier_arrive(Where where = Where::current()) {
    block_of_this_thread().arrive_at_cluster(where);
    return {};
  }
  static void barrier_wait(Where where = Where::current()) { block_of_this_thread().wait_for_cluster(where); }
  static void barrier_wait(arrival_token&&, Where where = Where::current()) { barrier_wait(where); }

  /// Which block of the cluster this is; the x axis of the cluster runs fastest.
  static unsigned block_rank() { return block_of_this_thread().rank_in_cluster(); }
  static unsigned num_blocks() { return block_of_this_thread().blocks_in_cluster(); }
  /// A variable in the shared memory of block `rank`, given its address in this block's. The other block must have
  /// begun, and must not have ended.
  template <class T>
  static T* map_shared_rank(T* address, int rank, Where where = Where::current()) {
    return static_cast<T*>(block_of_this_thread().in_shared_memory_of(
        rank, const_cast<const void*>(static_cast<const volatile void*>(address)), where));
  }
};
inline cluster_group this_cluster() { return {}; }

class thread_block {
 public:
  static void sync(Where where = Where::current()) { __syncthreads(where); }
  static unsigned thread_rank() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
};
inline thread_block this_thread_block() { return {}; }

}  // namespace cuda_on_cpu::cooperative_groups
