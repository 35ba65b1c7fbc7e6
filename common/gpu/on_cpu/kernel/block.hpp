/// One thread block on one host thread.
///
/// The threads of a block run one after the other in a plain loop on a fiber. When a thread has to wait for others
/// (a barrier, a warp operation) its fiber is put aside, and a second fiber goes on with the loop: a kernel without
/// barriers pays nothing for them. Fibers stay in the loop from block to block, until the launch ends.
///
/// The blocks of a cluster each have a host thread of their own, and take turns (cluster.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <source_location>
#include <span>
#include <vector>

#include "asynchronous.hpp"
#include "sanitizers.hpp"
#include "vector_types.hpp"

namespace cuda_on_cpu {

inline constexpr int rubbish = 0xA5;  ///< what memory holds that nobody wrote, where we look for mistakes

class Fiber;

/// Where the running CUDA thread is. A copy for every host thread; set before a CUDA thread runs or goes on.
struct Place {
  uint3 thread{}, block{};
};
inline constinit thread_local Place place{};
/// The extents of its block and grid. Variables and no macros, because members of cudaLaunchConfig_t have these names.
inline constinit thread_local dim3 blockDim{}, gridDim{};

/// What the lanes of a warp bring to a warp operation.
struct WarpValues {
  std::array<std::uint64_t, 32> value{};  ///< by lane
  unsigned lanes = 0;                     ///< those that came
};
enum class WarpOperation { shuffle, vote, sync, sum };

class Block;

/// Blocks that share a barrier and may touch each other's shared memory. A block that was launched without a cluster is
/// alone in one.
struct Cluster {
  std::vector<Block*> blocks;                 ///< by rank
  std::uint64_t phase = 1;                    ///< of the barrier: the next one begins when it opens
  std::optional<std::source_location> where;  ///< the barrier to which threads came in this phase; none if none did
  SyncPoint sync[2];                          ///< of even and odd phases: whoever leaves may reach the next one early

  /// The blocks are a cooperative grid: no cluster, but they run together, so that one may wait for what others write.
  bool grid = false;
  std::uint64_t writes = 0;  ///< of atomics, since the launch began

  /// Before the first block of a launch.
  void begin_launch(bool of_grid);

  /// Called when no thread can go on: opens the barrier if all threads that have not returned have come to it.
  bool open_barrier();
  /// Called when no thread can go on: those that gave way go on. False if there are none, or if they have looked for
  /// long enough for what nobody writes.
  bool wake();
  /// Ends the program with a message that says where all threads wait.
  [[noreturn]] void die_of_deadlock() const;

 private:
  std::uint64_t writes_seen_ = 0;
  std::size_t gave_way_ = 0, rounds_in_vain_ = 0;
};

/// A kernel with its arguments, and what it is launched on.
struct Grid {
  uint3 extent, block_extent, cluster_extent;  ///< in blocks, in threads, in blocks; of a cooperative grid all of it
  bool cooperative;
  std::size_t dynamic_shared_bytes;
  /// Runs CUDA threads, as long as start_thread() gives one.
  void (*thread_loop)(const void* kernel_call, Block& block);
  const void* kernel_call;
};

class Block {
 public:
  Block();
  ~Block();

  /// Before the first block of a launch.
  void begin_launch(const Grid& grid);
  /// Runs all threads of one block, alone in its cluster.
  void run(uint3 block_index);
  void end_launch();

  // ---- a block in turn with others of its cluster: begin, go on until it has returned, end
  void begin(uint3 block_index, Cluster* cluster, unsigned rank);
  /// Runs threads until none can go on. Returns whether all have returned.
  bool go_on();
  void end();
  /// The block has ended, others of its cluster have not: whoever touches its shared memory now makes a mistake. Fills
  /// the dynamic part with rubbish, which the sanitizers see.
  void give_up_shared_memory();

  // ---- the thread loop
  /// Makes the next CUDA thread the running one; false if all have been started.
  bool start_thread() {
    const RuntimeCode runtime;
    if (next_ == order_.size()) return false;
    place.thread = order_[next_++];
    block_begins_.acquire();
    return true;
  }
  bool has_more_threads_than(unsigned most) const {
    const RuntimeCode runtime;
    return order_.size() > most;
  }
  void end_thread() {
    const RuntimeCode runtime;
    if (copies_in_flight_ > 0) finish_thread_copies();
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
  unsigned lane() const { return number_of_thread() % 32; }
  /// Its number in the block: x counts first, then y, then z.
  unsigned number_of_thread() const { return thread_number(place.thread); }
  void* dynamic_shared() { return dynamic_shared_; }
  /// Says that this thread has come to the cluster's barrier.
  void arrive_at_cluster(std::source_location where);
  /// Waits until all threads of the cluster that have not returned have done so too.
  void wait_for_cluster(std::source_location where);

  /// Reads an atomic, which in a cooperative grid another block may still have to write: it gets the time.
  void before_atomic_read(std::source_location where);
  void after_atomic_write();

  // ---- the same of what goes on while it does something else (asynchronous.hpp); not inlined: they ask who called
  /// Begins a copy into shared memory, with the last `zeros` bytes set to zero. Sizes and alignments as for cp.async.
  [[gnu::noinline]] void copy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros,
                                    std::source_location where);
  /// The same, of any size, for whose end the present phase of a barrier waits, and counts its bytes if told so.
  [[gnu::noinline]] void copy_async(void* to, const void* from, std::size_t bytes, std::size_t alignment,
                                    BarrierName name, bool counted, std::source_location where);
  /// The copies since the last commit, if any, are a group.
  void commit_copies();
  /// Does the copies of all groups of this thread but the last ones.
  void wait_for_copies(std::size_t all_but);
  /// Returns the handle that belongs at the address.
  std::uint64_t init_barrier(const void* address, std::ptrdiff_t expected, std::source_location where);
  /// Announces that copies will bring so many bytes in this phase.
  void expect_bytes(BarrierName name, std::ptrdiff_t bytes, std::source_location where);
  /// Returns the number of the phase in which the thread arrived. Who drops out does not arrive in later ones.
  std::uint64_t arrive(BarrierName name, std::ptrdiff_t count, bool drops_out, std::source_location where);
  /// Waits until that phase is over; of a parity, until the last phase of that parity is.
  void wait_for_phase(BarrierName name, std::uint64_t phase, std::source_location where);
  void wait_for_parity(BarrierName name, bool parity, std::source_location where);

  /// The dynamic shared memory of the block, and where its static one lies: among the host thread's thread_local
  /// variables.
  std::span<const std::byte> dynamic_shared_memory() const { return {dynamic_shared_, dynamic_shared_bytes_}; }
  std::span<const std::byte> thread_local_memory() const { return static_shared_; }
  unsigned rank_in_cluster() const { return cluster_->grid ? 0 : rank_; }
  unsigned blocks_in_cluster() const { return cluster_->grid ? 1 : static_cast<unsigned>(cluster_->blocks.size()); }
  /// What lies in the shared memory of another block where `address` lies in this one's.
  void* in_shared_memory_of(int rank, const void* address, std::source_location where) const;
  /// Ends the program with a message that names the running block and thread.
  [[noreturn]] void die(const char* what, std::source_location where) const;
  /// The same for two places that do not fit together: where the running thread is, and where others wait.
  [[noreturn]] void die(const char* what, std::source_location where, std::source_location others) const;

 private:
  friend Cluster;

  /// What its lanes take with them.
  struct Meeting {
    WarpValues values;
    SyncPoint sync;
  };
  struct Exchange {
    WarpOperation operation;
    unsigned warp, mask;
    std::array<Fiber*, 32> waiting{};  ///< in the order in which the lanes came
    unsigned waiting_count = 0;
    std::source_location where;
    std::shared_ptr<Meeting> meeting = std::make_shared<Meeting>();
  };

  unsigned thread_number(uint3 thread) const { return (thread.z * extent_.y + thread.y) * extent_.x + thread.x; }
  void order_threads();
  Fiber* next_fiber();  // null if no thread can go on
  Fiber* free_fiber();
  void wait();
  void open_barrier();
  void complete(const Exchange& exchange);
  bool complete_without_returned_lanes();
  void begin_copy(const Copy& copy, std::size_t alignment, std::deque<Copy>& copies, SyncPoint* done,
                  void* place_of_call);
  void finish(std::deque<Copy>& copies, std::size_t count);
  void finish_thread_copies();
  void finish_barriers();
  [[noreturn]] void die_of_copy(const Copy& copy, const char* what);
  PhaseBarrier& find_barrier(BarrierName name, std::source_location where);
  void end_phase_if_complete(PhaseBarrier& barrier);
  void wait_for_phase(PhaseBarrier& barrier, std::uint64_t phase, std::source_location where);
  std::size_t arrived_at_cluster() const;
  void say_where_threads_wait() const;

  uint3 extent_{1, 1, 1};
  std::vector<uint3> order_;  ///< the threads of the block, in the order in which they start
  std::size_t next_ = 0;      ///< the first of them that has not started
  std::size_t live_ = 0;      ///< threads that have not returned
  void (*thread_loop_)(const void*, Block&) = nullptr;
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

  std::deque<ThreadCopies> thread_copies_;  ///< by thread number
  std::size_t copies_in_flight_ = 0;        ///< in all of these
  std::deque<PhaseBarrier> barriers_;

  Cluster alone_;
  Cluster* cluster_ = &alone_;
  unsigned rank_ = 0;
  uint3 index_{};
  std::vector<Fiber*> at_cluster_barrier_;
  std::vector<Fiber*> gave_way_;
  std::source_location gave_way_where_;  ///< the last of them
  std::vector<std::uint64_t>
      arrival_;  ///< by thread number: the phase that it came in, if it has not waited yet; else 0

  std::vector<std::byte> dynamic_memory_;
  std::byte* dynamic_shared_ = nullptr;
  std::size_t dynamic_shared_bytes_ = 0;
  std::span<std::byte> static_shared_;  ///< the host thread's thread_local variables, __shared__ ones among them
  std::mt19937_64 random_;
};

/// The block that runs on this host thread now; null outside kernels.
inline constinit thread_local Block* running_block = nullptr;

}  // namespace cuda_on_cpu
