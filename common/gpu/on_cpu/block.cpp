#include "block.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "crash.hpp"
#include "fiber.hpp"
#include "settings.hpp"

namespace cuda_on_cpu {
namespace {

constexpr std::size_t shared_alignment = 128;
constexpr std::size_t red_zone = 128;
constexpr int rubbish = 0xA5;  // what memory holds that nobody wrote, where we look for mistakes

/// The first host thread that finds a mistake reports it; others wait here for the end of the program.
void only_one_dies() {
  static std::mutex& mutex = *new std::mutex;
  mutex.lock();
}

}  // namespace

Block::Block() : random_(settings().seed) { use_crash_stack(); }
Block::~Block() = default;

inline void Block::wait() {
  Fiber* self = running_;
  self->thread_index = place.thread;
  self->suspend();
}

void Block::begin_launch(uint3 grid, uint3 block, std::size_t dynamic_shared_bytes, ThreadLoop loop,
                         const void* kernel_call) {
  loop_ = loop;
  kernel_call_ = kernel_call;
  place.grid_extent = grid;
  place.block_extent = block;
  order_threads();

  dynamic_shared_bytes_ = dynamic_shared_bytes;
  const std::size_t needed = dynamic_shared_bytes + shared_alignment + red_zone;
#ifdef CUDA_ON_CPU_ASAN
  ASAN_UNPOISON_MEMORY_REGION(dynamic_memory_.data(), dynamic_memory_.size());
#endif
  if (dynamic_memory_.size() < needed) dynamic_memory_.resize(needed);
  void* start = dynamic_memory_.data();
  std::size_t space = dynamic_memory_.size();
  dynamic_shared_ = static_cast<std::byte*>(std::align(shared_alignment, dynamic_shared_bytes, start, space));
#ifdef CUDA_ON_CPU_ASAN
  ASAN_POISON_MEMORY_REGION(dynamic_shared_ + dynamic_shared_bytes, space - dynamic_shared_bytes);
#endif
}

void Block::order_threads() {
  const uint3 n = place.block_extent;
  order_.clear();
  for (unsigned z = 0; z < n.z; ++z)
    for (unsigned y = 0; y < n.y; ++y)
      for (unsigned x = 0; x < n.x; ++x) order_.push_back({x, y, z});
  if (settings().schedule == Schedule::reversed) std::reverse(order_.begin(), order_.end());
}

void Block::run(uint3 block_index) {
  place.block = block_index;
  next_ = 0;
  live_ = order_.size();
  if (settings().schedule == Schedule::shuffled) std::shuffle(order_.begin(), order_.end(), random_);
  if (settings().schedule != Schedule::forward && dynamic_shared_bytes_ > 0)
    std::memset(dynamic_shared_, rubbish, dynamic_shared_bytes_);

  running_block = this;
  block_begins_.release();
  while (live_ > 0) {
    running_ = next_fiber();
    place.thread = running_->thread_index;
    running_->resume();
  }
  block_ends_.acquire();
  running_block = nullptr;
  free_.insert(free_.end(), resting_.begin(), resting_.end());
  resting_.clear();
}

bool Block::wait_for_block() {
  const RuntimeCode runtime;
  (one_thread_per_fiber ? resting_ : free_).push_back(running_);
  running_->suspend();
  return !launch_ended_;
}

void Block::end_launch() {
  launch_ended_ = true;
  for (Fiber* fiber : free_)
    if (!fiber->idle()) fiber->resume();
  launch_ended_ = false;
}

/// Threads that have not started come before threads that wait for their turn; shuffled: whichever.
Fiber* Block::next_fiber() {
  const bool shuffled = settings().schedule == Schedule::shuffled;
  if (first_runnable_ == runnable_.size() && next_ == order_.size() && !complete_without_returned_lanes())
    die_of_deadlock();
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
      block.loop_(block.kernel_call_, block);
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
  } else if (barrier_where_.line() != where.line() || barrier_where_.column() != where.column() ||
             barrier_where_.file_name() != where.file_name()) {
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
  runnable_.insert(runnable_.end(), at_barrier_.begin(), at_barrier_.end());
  at_barrier_.clear();
  barrier_result_ = barrier_count_;
  barrier_count_ = 0;
  barrier_parity_ ^= 1;
}

WarpValues Block::exchange(WarpOperation operation, unsigned mask, std::uint64_t value, std::source_location where) {
  const RuntimeCode runtime;
  const unsigned warp = thread_number() / 32, lane_bit = 1u << lane();
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

  const std::shared_ptr<SyncPoint> sync = it->sync;
  if (operation == WarpOperation::sync) sync->release();  // shuffles and votes order no memory
  it->values.value[lane()] = value;
  it->values.lanes |= lane_bit;
  it->waiting[it->waiting_count++] = running_;
  if (delivered_.size() < order_.size()) delivered_.resize(order_.size());
  if (it->values.lanes == it->mask) {
    complete(*it);
    exchanges_.erase(it);
  }
  wait();
  if (operation == WarpOperation::sync) sync->acquire();
  return delivered_[thread_number()];
}

void Block::complete(Exchange& exchange) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (exchange.values.lanes >> lane & 1) delivered_[exchange.warp * 32 + lane] = exchange.values;
  runnable_.insert(runnable_.end(), exchange.waiting.begin(), exchange.waiting.begin() + exchange.waiting_count);
}

/// Warp operations wait for the lanes of their mask that have not returned, so those that have must not hold them up.
/// Nothing can run now: a lane that waits nowhere has returned.
bool Block::complete_without_returned_lanes() {
  for (auto it = exchanges_.begin(); it != exchanges_.end(); ++it) {
    unsigned waiting = 0;
    for (const Exchange& other : exchanges_)
      if (other.warp == it->warp) waiting |= other.values.lanes;
    for (const Fiber* fiber : at_barrier_) {
      const uint3 t = fiber->thread_index, n = place.block_extent;
      const unsigned number = (t.z * n.y + t.y) * n.x + t.x;
      if (number / 32 == it->warp) waiting |= 1u << number % 32;
    }
    if (it->mask & waiting & ~it->values.lanes) continue;
    complete(*it);
    exchanges_.erase(it);
    return true;
  }
  return false;
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

void Block::die_of_deadlock() const {
  only_one_dies();
  std::fprintf(stderr, "deadlock in block (%u,%u,%u): %zu of its %zu threads wait for threads that will not come\n",
               place.block.x, place.block.y, place.block.z, live_, order_.size());
  if (!at_barrier_.empty())
    std::fprintf(stderr, "%s:%u: %zu threads wait at this barrier\n", barrier_where_.file_name(),
                 static_cast<unsigned>(barrier_where_.line()), at_barrier_.size());
  for (const Exchange& e : exchanges_)
    std::fprintf(stderr, "%s:%u: warp %u, lanes %08x of mask %08x wait at this warp operation\n", e.where.file_name(),
                 static_cast<unsigned>(e.where.line()), e.warp, e.values.lanes, e.mask);
  std::abort();
}

}  // namespace cuda_on_cpu
