/// Who watches kernels run: the recorder of counters/. Ordinary programs have nobody.
#pragma once

#include <cstddef>

namespace cuda_on_cpu {

class Block;
struct Grid;

/// Called by the host threads that run a grid, several at once. A host thread joins a grid, runs blocks of it one after
/// the other, and leaves. (Blocks of a cluster have a host thread each.)
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void launch_begins(const Grid& grid) = 0;  ///< before anybody joins; on the thread that launches, as is
  virtual void launch_ends(const Grid& grid) = 0;    ///< after all have left
  virtual void joins(const Grid& grid) = 0;
  virtual void leaves() = 0;
  virtual void block_begins(const Block& block) = 0;
  virtual void barrier_opens() = 0;  ///< all threads of the block that have not returned are there
  virtual void block_ends() = 0;
  /// The running CUDA thread begins an asynchronous copy; `place` is the address to which its call returns.
  virtual void copy_begins(const void* to, const void* from, std::size_t bytes, const void* place) = 0;

  /// Device memory that is allocated, with nothing in it; that is written by a copy or cudaMemset; and that is freed.
  virtual void memory_begins(const void* begin, std::size_t bytes) = 0;
  virtual void memory_is_written(const void* begin, std::size_t bytes) = 0;
  virtual void memory_ends(const void* begin) = 0;
};
/// Null, or set before main() begins.
inline constinit Observer* observer = nullptr;

}  // namespace cuda_on_cpu
