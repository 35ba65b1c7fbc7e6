/// <cuda_pipeline.h> as psFlip's CPU path has it: a thread's asynchronous copies into shared memory (cp.async), in
/// groups.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace cuda_on_cpu {

/// Begins a copy of 4, 8 or 16 bytes, to and from multiples of as many. The last `zfill` bytes become zero.
__forceinline__ void __pipeline_memcpy_async(void* to_shared, const void* from_global, std::size_t size_and_align,
                                             std::size_t zfill = 0, Where where = Where::current()) {
  block_of_this_thread().copy_async(to_shared, from_global, size_and_align, zfill, where);
}
/// Makes a group of the copies that this thread has begun since the last call.
inline void __pipeline_commit() { block_of_this_thread().commit_copies(); }
/// Waits until all groups of this thread but the last `prior` are done. What they wrote, other threads see behind a
/// barrier.
inline void __pipeline_wait_prior(std::size_t prior) { block_of_this_thread().wait_for_copies(prior); }

}  // namespace cuda_on_cpu
