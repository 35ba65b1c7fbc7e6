/// What goes on in a block while its threads do something else: copies from device memory into shared memory, and
/// barriers at which a thread may arrive now and wait later. <cuda_pipeline.h> and <cuda/barrier> are what kernels see
/// of them.
///
/// A copy is done as late as CUDA allows: by the wait that covers it, in the order of the schedule. Until then its
/// destination holds rubbish, which AddressSanitizer takes for memory that nobody may touch. For ThreadSanitizer it is
/// done when it begins, by a thread of its own (CopyingThread), which orders nothing before that wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <source_location>
#include <vector>

#include "sanitizers.hpp"
#include "vector_types.hpp"

namespace cuda_on_cpu {

class Fiber;

/// A copy that has begun and is not done.
struct Copy {
  std::byte* to;
  const std::byte* from;
  std::size_t bytes, zeros;  ///< zeros: how many of the last bytes are not copied but set to zero
  uint3 thread;              ///< that began it
  std::source_location where;
  std::uint64_t group = 0;             ///< how often its thread had committed before
  bool counts_at_its_barrier = false;  ///< it is a transaction there
  SyncPoint done{};
};

/// The copies of a CUDA thread for which no barrier waits.
struct ThreadCopies {
  std::deque<Copy> in_flight;  ///< from the oldest on, so those of older groups come first
  std::uint64_t commits = 0;   ///< how many groups there are
  CopyingThread copying_thread;
};

/// What a cuda::barrier<cuda::thread_scope_block> says of itself.
struct BarrierName {
  const void* address;
  std::uint64_t handle;  ///< Block::init_barrier() gave it, and it is what lies at the address
};

/// The state of one. A phase is over when as many threads have arrived as it takes, its copies are done, and they
/// brought as many bytes as were announced.
struct PhaseBarrier {
  struct Waiting {
    Fiber* fiber;
    std::source_location where;
  };

  const void* address;
  std::ptrdiff_t expected;           ///< arrivals a phase, from the next one on
  std::ptrdiff_t wanted = expected;  ///< in this phase
  std::ptrdiff_t arrived = 0;        ///< in this phase
  std::ptrdiff_t announced = 0;      ///< bytes, in this phase
  std::uint64_t phase = 0;           ///< how many are over
  std::deque<Copy> copies{};         ///< for which this phase waits
  std::vector<Waiting> waiting{};
  SyncPoint sync[2]{};  ///< of even and odd phases: whoever leaves one may reach the next one early

  /// That were announced, and no copy that has begun brings them.
  std::ptrdiff_t missing_bytes() const {
    std::ptrdiff_t missing = announced;
    for (const Copy& copy : copies)
      if (copy.counts_at_its_barrier) missing -= static_cast<std::ptrdiff_t>(copy.bytes);
    return missing;
  }
};

}  // namespace cuda_on_cpu
