/// One thread block on one host thread.
///
/// The threads of a block run one after the other in a plain loop on a fiber. When a thread has to wait for others
/// (a barrier, a warp operation) its fiber is put aside, and a second fiber goes on with the loop: a kernel without
/// barriers pays nothing for them. Fibers stay in the loop from block to block, until the launch ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <source_location>
#include <vector>

#include "sanitizers.hpp"
#include "vector_types.hpp"

namespace cuda_on_cpu {

class Fiber;

/// Where the running CUDA thread is. A copy for every host thread; set before a CUDA thread runs or goes on.
struct Place {
  uint3 thread{}, block{}, block_extent{1, 1, 1}, grid_extent{1, 1, 1};
};
inline constinit thread_local Place place{};

/// What the lanes of a warp bring to a warp operation.
struct WarpValues {
  std::array<std::uint64_t, 32> value{};  ///< by lane
  unsigned lanes = 0;                     ///< those that came
};
enum class WarpOperation { shuffle, vote, sync };

class Block {
 public:
  /// Runs CUDA threads, as long as start_thread() gives one.
  using ThreadLoop = void (*)(const void* kernel_call, Block& block);

  Block();
  ~Block();

  /// Before the first block of a launch: its shape, its bytes of dynamic shared memory, its kernel.
  void begin_launch(uint3 grid, uint3 block, std::size_t dynamic_shared_bytes, ThreadLoop loop,
                    const void* kernel_call);
  /// Runs all threads of one block.
  void run(uint3 block_index);
  void end_launch();

  // ---- the thread loop
  /// Makes the next CUDA thread the running one; false if all have been started.
  bool start_thread() {
    const RuntimeCode runtime;
    if (next_ == order_.size()) return false;
    place.thread = order_[next_++];
    block_begins_.acquire();
    return true;
  }
  void end_thread() {
    const RuntimeCode runtime;
    block_ends_.release();
    if (--live_ == at_barrier_.size() && live_ > 0) open_barrier();
  }

  /// There is no thread left to start: sleeps until there is one, in the next block. False if there is no next block.
  bool wait_for_block();

  // ---- the running CUDA thread
  /// Waits until every thread of the block that has not returned is here. Returns how many of them brought true.
  int barrier(bool predicate, std::source_location where);
  /// Waits until all lanes of `mask` that have not returned are here with the same mask and operation, and returns what
  /// each lane brought.
  WarpValues exchange(WarpOperation operation, unsigned mask, std::uint64_t value, std::source_location where);
  unsigned lane() const { return thread_number() % 32; }
  void* dynamic_shared() { return dynamic_shared_; }
  /// Ends the program with a message that names the running block and thread.
  [[noreturn]] void die(const char* what, std::source_location where) const;
  /// The same for two places that do not fit together: where the running thread is, and where others wait.
  [[noreturn]] void die(const char* what, std::source_location where, std::source_location others) const;

 private:
  struct Exchange {
    WarpOperation operation;
    unsigned warp, mask, arrived = 0;
    WarpValues values{};               ///< by lane
    std::array<Fiber*, 32> waiting{};  ///< in the order in which the lanes came
    unsigned waiting_count = 0;
    std::source_location where;
    std::shared_ptr<SyncPoint> sync = std::make_shared<SyncPoint>();
  };

  unsigned thread_number() const {
    return (place.thread.z * place.block_extent.y + place.thread.y) * place.block_extent.x + place.thread.x;
  }
  void order_threads();
  Fiber* next_fiber();
  Fiber* free_fiber();
  void wait();
  void open_barrier();
  void complete(Exchange& exchange);
  bool complete_without_returned_lanes();
  [[noreturn]] void die_of_deadlock() const;

  std::vector<uint3> order_;  ///< the threads of the block, in the order in which they start
  std::size_t next_ = 0;      ///< the first of them that has not started
  std::size_t live_ = 0;      ///< threads that have not returned
  ThreadLoop loop_ = nullptr;
  const void* kernel_call_ = nullptr;

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;     ///< have no CUDA thread and may start one
  std::vector<Fiber*> resting_;  ///< have none and may not, before the next block
  bool launch_ended_ = false;
  std::vector<Fiber*> runnable_;
  std::size_t first_runnable_ = 0;
  Fiber* running_ = nullptr;

  std::vector<Fiber*> at_barrier_;
  std::source_location barrier_where_;
  int barrier_count_ = 0, barrier_result_ = 0;
  unsigned barrier_parity_ = 0;  ///< two sync points in turn: whoever leaves a barrier may reach the next one early
  SyncPoint barrier_sync_[2], block_begins_, block_ends_;

  std::vector<Exchange> exchanges_;
  std::vector<WarpValues> delivered_;  ///< by thread number

  std::vector<std::byte> dynamic_memory_;
  std::byte* dynamic_shared_ = nullptr;
  std::size_t dynamic_shared_bytes_ = 0;
  std::mt19937_64 random_;
};

/// The block that runs on this host thread now; null outside kernels.
inline constinit thread_local Block* running_block = nullptr;

}  // namespace cuda_on_cpu
