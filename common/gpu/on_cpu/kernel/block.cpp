#include "block.hpp"

#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "crash.hpp"
#include "fiber.hpp"
#include "observer.hpp"
#include "runtime/settings.hpp"

namespace cuda_on_cpu {
namespace {

constexpr std::size_t shared_alignment = 128;
constexpr std::size_t red_zone = 128;

/// The first host thread that finds a mistake reports it; others wait here for the end of the program.
void only_one_dies() {
  static std::mutex& mutex = *new std::mutex;
  mutex.lock();
}

/// The thread_local variables of this host thread that belong to the program or library that this code is a part of.
std::span<std::byte> thread_local_variables() {
  std::span<std::byte> found;
  const auto look = [](dl_phdr_info* module, std::size_t, void* result) {
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      if (module->dlpi_phdr[i].p_type != PT_TLS || module->dlpi_tls_data == nullptr) continue;
      auto* begin = static_cast<std::byte*>(module->dlpi_tls_data);
      const std::size_t bytes = module->dlpi_phdr[i].p_memsz;
      if (reinterpret_cast<std::uintptr_t>(&place) - reinterpret_cast<std::uintptr_t>(begin) >= bytes) continue;
      *static_cast<std::span<std::byte>*>(result) = {begin, bytes};
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(look, &found);
  return found;
}

bool same_place(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() && a.file_name() == b.file_name();
}

}  // namespace

Block::Block() : random_(settings().seed) {
  alone_.blocks = {this};
  static_shared_ = thread_local_variables();
  use_crash_stack();
}
Block::~Block() = default;

inline void Block::wait() {
  Fiber* self = running_;
  self->thread_index = place.thread;
  self->suspend();
}

void Block::begin_launch(const Grid& grid) {
  thread_loop_ = grid.thread_loop;
  kernel_call_ = grid.kernel_call;
  gridDim = grid.extent;
  blockDim = extent_ = grid.block_extent;
  order_threads();

  dynamic_shared_bytes_ = grid.dynamic_shared_bytes;
  const std::size_t needed = dynamic_shared_bytes_ + shared_alignment + red_zone;
#ifdef CUDA_ON_CPU_ASAN
  ASAN_UNPOISON_MEMORY_REGION(dynamic_memory_.data(), dynamic_memory_.size());
#endif
  if (dynamic_memory_.size() < needed) dynamic_memory_.resize(needed);
  void* start = dynamic_memory_.data();
  std::size_t space = dynamic_memory_.size();
  dynamic_shared_ = static_cast<std::byte*>(std::align(shared_alignment, dynamic_shared_bytes_, start, space));
#ifdef CUDA_ON_CPU_ASAN
  ASAN_POISON_MEMORY_REGION(dynamic_shared_ + dynamic_shared_bytes_, space - dynamic_shared_bytes_);
#endif
  if (observer != nullptr) observer->joins(grid);
}

void Block::order_threads() {
  const uint3 n = extent_;
  order_.clear();
  for (unsigned z = 0; z < n.z; ++z)
    for (unsigned y = 0; y < n.y; ++y)
      for (unsigned x = 0; x < n.x; ++x) order_.push_back({x, y, z});
  if (settings().schedule == Schedule::reversed) std::reverse(order_.begin(), order_.end());
}

void Block::run(uint3 block_index) {
  begin(block_index, &alone_, 0);
  while (!go_on())
    if (!alone_.open_barrier()) alone_.die_of_deadlock();
  end();
}

void Block::begin(uint3 block_index, Cluster* cluster, unsigned rank) {
  place.block = index_ = block_index;
  next_ = 0;
  live_ = order_.size();
  cluster_ = cluster;
  rank_ = rank;
  alone_.where.reset();
  arrival_.clear();
  barriers_.clear();
  if (settings().schedule == Schedule::shuffled) std::shuffle(order_.begin(), order_.end(), random_);
#ifdef CUDA_ON_CPU_ASAN
  ASAN_UNPOISON_MEMORY_REGION(dynamic_shared_, dynamic_shared_bytes_);
#endif
  if (settings().schedule != Schedule::forward && dynamic_shared_bytes_ > 0)
    std::memset(dynamic_shared_, rubbish, dynamic_shared_bytes_);

  running_block = this;
  if (observer != nullptr) observer->block_begins(*this);
  block_begins_.release();
}

bool Block::go_on() {
  while (live_ > 0) {
    running_ = next_fiber();
    if (running_ == nullptr) return false;
    place.thread = running_->thread_index;
    running_->resume();
  }
  return true;
}

void Block::end() {
  finish_barriers();
  block_ends_.acquire();
  if (observer != nullptr) observer->block_ends();
  running_block = nullptr;
  free_.insert(free_.end(), resting_.begin(), resting_.end());
  resting_.clear();
}

void Block::give_up_shared_memory() {
  if (dynamic_shared_bytes_ == 0) return;
  std::memset(dynamic_shared_, rubbish, dynamic_shared_bytes_);  // in ThreadSanitizer's eyes too
#ifdef CUDA_ON_CPU_ASAN
  ASAN_POISON_MEMORY_REGION(dynamic_shared_, dynamic_shared_bytes_);
#endif
}

bool Block::wait_for_block() {
  const RuntimeCode runtime;
  (one_thread_per_fiber ? resting_ : free_).push_back(running_);
  running_->suspend();
  return !launch_ended_;
}

void Block::end_launch() {
  if (observer != nullptr) observer->leaves();
  launch_ended_ = true;
  for (Fiber* fiber : free_)
    if (!fiber->idle()) fiber->resume();
  launch_ended_ = false;
}

/// Threads that have not started come before threads that wait for their turn; shuffled: whichever.
Fiber* Block::next_fiber() {
  const bool shuffled = settings().schedule == Schedule::shuffled;
  if (first_runnable_ == runnable_.size() && next_ == order_.size() && !complete_without_returned_lanes())
    return nullptr;
  const bool can_start = next_ < order_.size(), can_go_on = first_runnable_ < runnable_.size();
  if (can_start && (!can_go_on || !shuffled || random_() % 2 == 0)) return free_fiber();

  if (shuffled) {
    const std::size_t choice = first_runnable_ + random_() % (runnable_.size() - first_runnable_);
    std::swap(runnable_[first_runnable_], runnable_[choice]);
  }
  Fiber* fiber = runnable_[first_runnable_++];
  if (first_runnable_ == runnable_.size()) {
    runnable_.clear();
    first_runnable_ = 0;
  }
  return fiber;
}

Fiber* Block::free_fiber() {
  if (free_.empty()) {
    const auto work = [](void* self) {
      Block& block = *static_cast<Block*>(self);
      block.thread_loop_(block.kernel_call_, block);
    };
    fibers_.push_back(std::make_unique<Fiber>(work, this, fibers_.size()));
    return fibers_.back().get();
  }
  Fiber* fiber = free_.back();
  free_.pop_back();
  return fiber;
}

int Block::barrier(bool predicate, std::source_location where) {
  const RuntimeCode runtime;
  if (at_barrier_.empty()) {
    barrier_where_ = where;
  } else if (!same_place(barrier_where_, where)) {
    die("waits at another barrier than the threads before it, which are at", where, barrier_where_);
  }
  SyncPoint& sync = barrier_sync_[barrier_parity_];
  sync.release();
  barrier_count_ += predicate;
  at_barrier_.push_back(running_);
  if (at_barrier_.size() == live_) open_barrier();
  wait();
  sync.acquire();
  return barrier_result_;
}

void Block::open_barrier() {
  if (observer != nullptr) observer->barrier_opens();
  runnable_.insert(runnable_.end(), at_barrier_.begin(), at_barrier_.end());
  at_barrier_.clear();
  barrier_result_ = barrier_count_;
  barrier_count_ = 0;
  barrier_parity_ ^= 1;
}

WarpValues Block::exchange(WarpOperation operation, unsigned mask, std::uint64_t value, std::source_location where) {
  const RuntimeCode runtime;
  const unsigned warp = thread_number(place.thread) / 32, lane_bit = 1u << lane();
  const std::size_t lanes = std::min<std::size_t>(32, order_.size() - warp * 32);
  if (lanes < 32) mask &= (1u << lanes) - 1;  // the last warp of a block may be a part of one
  if (!(mask & lane_bit)) die("calls a warp operation whose mask leaves it out", where);

  auto it = std::find_if(exchanges_.begin(), exchanges_.end(),
                         [&](const Exchange& e) { return e.warp == warp && e.mask == mask; });
  if (it == exchanges_.end())
    it = exchanges_.insert(exchanges_.end(),
                           Exchange{.operation = operation, .warp = warp, .mask = mask, .where = where});
  if (it->operation != operation)
    die("calls another warp operation than the lanes that wait for it at", where, it->where);

  const std::shared_ptr<Meeting> meeting = it->meeting;
  if (operation == WarpOperation::sync) meeting->sync.release();  // shuffles and votes order no memory
  WarpValues& values = meeting->values;
  values.value[lane()] = value;
  values.lanes |= lane_bit;
  it->waiting[it->waiting_count++] = running_;
  if (values.lanes == mask) {
    complete(*it);
    exchanges_.erase(it);
  }
  wait();
  if (operation == WarpOperation::sync) meeting->sync.acquire();
  return values;
}

void Block::complete(const Exchange& exchange) {
  runnable_.insert(runnable_.end(), exchange.waiting.begin(), exchange.waiting.begin() + exchange.waiting_count);
}

/// Warp operations wait for the lanes of their mask that have not returned, so those that have must not hold them up.
/// Nothing can run now: a lane that waits nowhere has returned.
bool Block::complete_without_returned_lanes() {
  for (auto it = exchanges_.begin(); it != exchanges_.end(); ++it) {
    unsigned waiting = 0;
    for (const Exchange& other : exchanges_)
      if (other.warp == it->warp) waiting |= other.meeting->values.lanes;
    for (const auto* barrier : {&at_barrier_, &at_cluster_barrier_, &gave_way_})
      for (const Fiber* fiber : *barrier) {
        const unsigned number = thread_number(fiber->thread_index);
        if (number / 32 == it->warp) waiting |= 1u << number % 32;
      }
    for (const PhaseBarrier& barrier : barriers_)
      for (const PhaseBarrier::Waiting& at_barrier : barrier.waiting) {
        const unsigned number = thread_number(at_barrier.fiber->thread_index);
        if (number / 32 == it->warp) waiting |= 1u << number % 32;
      }
    if (it->mask & waiting & ~it->meeting->values.lanes) continue;
    complete(*it);
    exchanges_.erase(it);
    return true;
  }
  return false;
}

void Block::wait_for_phase(PhaseBarrier& barrier, std::uint64_t phase, std::source_location where) {
  if (phase == barrier.phase) {
    barrier.waiting.push_back({running_, where});
    wait();
  }
  if (phase + 1 != barrier.phase)
    die("waits for a phase after which the barrier has been through another: on a GPU it may wait for ever", where);
  barrier.sync[phase % 2].acquire();
}

void Block::arrive_at_cluster(std::source_location where) {
  const RuntimeCode runtime;
  Cluster& cluster = *cluster_;
  arrival_.resize(order_.size());
  std::uint64_t& arrival = arrival_[thread_number(place.thread)];
  if (arrival != 0) die("comes to the barrier of the cluster again, and has not waited there", where);
  if (cluster.where && !same_place(*cluster.where, where))
    die("comes to another barrier of the cluster than the threads before it, which are at", where, *cluster.where);
  cluster.where = where;
  arrival = cluster.phase;
  cluster.sync[arrival % 2].release();
}

void Block::wait_for_cluster(std::source_location where) {
  const RuntimeCode runtime;
  const unsigned number = thread_number(place.thread);
  const std::uint64_t phase = number < arrival_.size() ? std::exchange(arrival_[number], 0) : 0;
  if (phase == 0) die("waits at the barrier of the cluster, and has not arrived there", where);
  if (phase == cluster_->phase) {
    at_cluster_barrier_.push_back(running_);
    wait();
  }
  cluster_->sync[phase % 2].acquire();
}

/// How many of the threads that have not returned have come to the cluster's barrier. Called when all of them wait.
std::size_t Block::arrived_at_cluster() const {
  std::size_t count = at_cluster_barrier_.size();
  const auto look = [&](const Fiber* fiber) {
    const unsigned number = thread_number(fiber->thread_index);
    count += number < arrival_.size() && arrival_[number] == cluster_->phase;
  };
  std::for_each(at_barrier_.begin(), at_barrier_.end(), look);
  for (const Exchange& e : exchanges_) std::for_each_n(e.waiting.begin(), e.waiting_count, look);
  for (const PhaseBarrier& barrier : barriers_)
    for (const PhaseBarrier::Waiting& at_barrier : barrier.waiting) look(at_barrier.fiber);
  return count;
}

bool Cluster::open_barrier() {
  for (const Block* block : blocks)
    if (block->arrived_at_cluster() < block->live_) return false;
  for (Block* block : blocks) {
    block->runnable_.insert(block->runnable_.end(), block->at_cluster_barrier_.begin(),
                            block->at_cluster_barrier_.end());
    block->at_cluster_barrier_.clear();
  }
  ++phase;
  where.reset();
  return true;
}

void Block::before_atomic_read(std::source_location where) {
  if (!cluster_->grid) return;
  const RuntimeCode runtime;
  gave_way_where_ = where;
  gave_way_.push_back(running_);
  wait();
}

void Block::after_atomic_write() {
  if (!cluster_->grid) return;
  const RuntimeCode runtime;
  ++cluster_->writes;
}

void Cluster::begin_launch(bool of_grid) {
  grid = of_grid;
  writes = writes_seen_ = 0;
  gave_way_ = rounds_in_vain_ = 0;
  blocks.clear();
}

bool Cluster::wake() {
  // A thread that looks at a flag again and again does nothing else. Were there a write that is no atomic's, or of the
  // host, it would have come by then.
  constexpr std::size_t long_enough = 1000;
  std::size_t all = 0;
  for (const Block* block : blocks) all += block->gave_way_.size();
  const bool in_vain = all == std::exchange(gave_way_, all) && writes == std::exchange(writes_seen_, writes);
  rounds_in_vain_ = in_vain ? rounds_in_vain_ + 1 : 0;
  if (all == 0 || rounds_in_vain_ == long_enough) return false;
  for (Block* block : blocks) {
    block->runnable_.insert(block->runnable_.end(), block->gave_way_.begin(), block->gave_way_.end());
    block->gave_way_.clear();
  }
  return true;
}

void* Block::in_shared_memory_of(int rank, const void* address, std::source_location where) const {
  const RuntimeCode runtime;
  if (rank < 0 || static_cast<unsigned>(rank) >= blocks_in_cluster())
    die("asks for the shared memory of a block that its cluster does not have", where);
  const Block& other = cluster_->grid ? *this : *cluster_->blocks[static_cast<std::size_t>(rank)];
  const auto offset_from = [&](const std::byte* begin) {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin);
  };
  if (const auto offset = offset_from(dynamic_shared_); offset <= dynamic_shared_bytes_)
    return other.dynamic_shared_ + offset;
  if (const auto offset = offset_from(static_shared_.data()); offset <= static_shared_.size())
    return other.static_shared_.data() + offset;
  die("asks for the place of what is not in its shared memory", where);
}

void Block::die(const char* what, std::source_location where) const {
  only_one_dies();
  std::fprintf(stderr, "%s:%u: block (%u,%u,%u) thread (%u,%u,%u) %s\n", where.file_name(),
               static_cast<unsigned>(where.line()), place.block.x, place.block.y, place.block.z, place.thread.x,
               place.thread.y, place.thread.z, what);
  std::abort();
}

void Block::die(const char* what, std::source_location where, std::source_location others) const {
  const std::string place_of_others = std::string(others.file_name()) + ":" + std::to_string(others.line()) + ":";
  die((std::string(what) + "\n" + place_of_others).c_str(), where);
}

void Cluster::die_of_deadlock() const {
  only_one_dies();
  std::size_t live = 0, all = 0;
  for (const Block* block : blocks) {
    live += block->live_;
    all += block->order_.size();
  }
  const uint3 first = blocks[0]->index_;
  std::fprintf(stderr, "deadlock in %s (%u,%u,%u): %zu of its %zu threads wait for threads that will not come\n",
               grid                ? "the grid that begins with block"
               : blocks.size() > 1 ? "the cluster of block"
                                   : "block",
               first.x, first.y, first.z, live, all);
  for (const Block* block : blocks) block->say_where_threads_wait();
  std::abort();
}

void Block::say_where_threads_wait() const {
  const auto say_place = [this](std::source_location where) {
    std::fprintf(stderr, "%s:%u: ", where.file_name(), static_cast<unsigned>(where.line()));
    if (cluster_->blocks.size() > 1) std::fprintf(stderr, "block (%u,%u,%u): ", index_.x, index_.y, index_.z);
  };
  if (!at_barrier_.empty()) {
    say_place(barrier_where_);
    std::fprintf(stderr, "%zu threads wait at this barrier\n", at_barrier_.size());
  }
  if (!at_cluster_barrier_.empty()) {
    say_place(*cluster_->where);
    std::fprintf(stderr, "%zu threads wait at this barrier of the cluster\n", at_cluster_barrier_.size());
  }
  if (!gave_way_.empty()) {
    say_place(gave_way_where_);
    std::fprintf(stderr, "%zu threads read an atomic here, over and over\n", gave_way_.size());
  }
  for (const PhaseBarrier& barrier : barriers_) {
    const auto& all = barrier.waiting;
    for (auto it = all.begin(); it != all.end(); ++it) {
      const auto at_same_place = [it](const auto& other) { return same_place(other.where, it->where); };
      if (std::any_of(all.begin(), it, at_same_place)) continue;
      say_place(it->where);
      std::fprintf(stderr,
                   "%td threads wait for a phase of a barrier, with %td of %td arrivals and %td bytes missing\n",
                   std::count_if(it, all.end(), at_same_place), barrier.wanted - barrier.arrived, barrier.wanted,
                   barrier.missing_bytes());
    }
  }
  for (const Exchange& e : exchanges_) {
    say_place(e.where);
    std::fprintf(stderr, "warp %u, lanes %08x of mask %08x wait at this warp operation\n", e.warp,
                 e.meeting->values.lanes, e.mask);
  }
}

}  // namespace cuda_on_cpu
