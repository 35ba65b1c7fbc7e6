// What a block knows of asynchronous copies and of barriers with phases. How a thread waits at these is in block.cpp.
#include "asynchronous.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "block.hpp"
#include "observer.hpp"
#include "runtime/settings.hpp"

namespace cuda_on_cpu {
namespace {

constexpr std::uint64_t handle_mark = 0xBA221E25ull << 32;  // in the upper half of every handle, above the number

bool within(std::span<const std::byte> memory, const std::byte* begin, std::size_t bytes) {
  const auto offset = reinterpret_cast<std::uintptr_t>(begin) - reinterpret_cast<std::uintptr_t>(memory.data());
  return offset <= memory.size() && bytes <= memory.size() - offset;
}

bool aligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

}  // namespace

/// `done`: where the end of the copy is announced; null: in the copy itself.
void Block::begin_copy(const Copy& begun, std::size_t alignment, std::deque<Copy>& copies, SyncPoint* done,
                       void* place_of_call) {
  if (!within(dynamic_shared_memory(), begun.to, begun.bytes) && !within(static_shared_, begun.to, begun.bytes))
    die("begins an asynchronous copy to what is not in its shared memory", begun.where);
  if (within(dynamic_shared_memory(), begun.from, 1) || within(static_shared_, begun.from, 1))
    die("begins an asynchronous copy from what is not in device memory", begun.where);
  if (!aligned(begun.to, alignment) || !aligned(begun.from, alignment))
    die("begins an asynchronous copy at an address that is not a multiple of its size", begun.where);
  for (const Copy& other : copies)
    if (begun.to < other.to + other.bytes && other.to < begun.to + begun.bytes)
      die("begins an asynchronous copy to where another may still write, which began at", begun.where, other.where);
  if (observer != nullptr) observer->copy_begins(begun.to, begun.from, begun.bytes, place_of_call);

  Copy& copy = copies.emplace_back(begun);
  const std::size_t copied = copy.bytes - copy.zeros;
  if (copied > 0) {  // what cannot be read shall crash here
    const volatile std::byte* source = copy.from;
    (void)source[0];
    (void)source[copied - 1];
  }
  std::memset(copy.to, rubbish, copy.bytes);
#ifdef CUDA_ON_CPU_ASAN
  ASAN_POISON_MEMORY_REGION(copy.to, copy.bytes);
#endif
  while (thread_copies_.size() < order_.size()) thread_copies_.emplace_back();
  thread_copies_[number_of_thread()].copying_thread.copies(copy.to, copy.from, copy.bytes, place_of_call,
                                                           done != nullptr ? *done : copy.done);
}

/// Does the first `count` of the copies, in the order of the schedule.
void Block::finish(std::deque<Copy>& copies, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (settings().schedule == Schedule::reversed) std::reverse(order.begin(), order.end());
  if (settings().schedule == Schedule::shuffled) std::shuffle(order.begin(), order.end(), random_);
  for (const std::size_t i : order) {
    const Copy& copy = copies[i];
#ifdef CUDA_ON_CPU_ASAN
    ASAN_UNPOISON_MEMORY_REGION(copy.to, copy.bytes);
#endif
    std::memcpy(copy.to, copy.from, copy.bytes - copy.zeros);
    std::memset(copy.to + copy.bytes - copy.zeros, 0, copy.zeros);
  }
}

void Block::copy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros, std::source_location where) {
  const RuntimeCode runtime;
  if (bytes != 4 && bytes != 8 && bytes != 16)
    die("begins an asynchronous copy of a size that is not 4, 8 or 16 bytes", where);
  if (zeros > bytes) die("begins an asynchronous copy with more zeros than bytes", where);
  while (thread_copies_.size() < order_.size()) thread_copies_.emplace_back();
  ThreadCopies& own = thread_copies_[number_of_thread()];
  begin_copy({.to = static_cast<std::byte*>(to),
              .from = static_cast<const std::byte*>(from),
              .bytes = bytes,
              .zeros = zeros,
              .thread = place.thread,
              .where = where,
              .group = own.commits},
             bytes, own.in_flight, nullptr, __builtin_return_address(0));
  ++copies_in_flight_;
}

void Block::commit_copies() {
  const RuntimeCode runtime;
  while (thread_copies_.size() < order_.size()) thread_copies_.emplace_back();
  ++thread_copies_[number_of_thread()].commits;
}

void Block::wait_for_copies(std::size_t all_but) {
  const RuntimeCode runtime;
  const unsigned number = number_of_thread();
  if (number >= thread_copies_.size()) return;
  ThreadCopies& own = thread_copies_[number];
  const auto end = std::find_if(own.in_flight.begin(), own.in_flight.end(),
                                [&](const Copy& copy) { return copy.group + all_but >= own.commits; });
  const auto count = static_cast<std::size_t>(end - own.in_flight.begin());
  finish(own.in_flight, count);
  for (std::size_t i = 0; i < count; ++i) {
    own.in_flight.front().done.acquire();
    own.in_flight.pop_front();
  }
  copies_in_flight_ -= count;
}

/// At the end of a thread: what it never waited for is a mistake.
void Block::finish_thread_copies() {
  ThreadCopies& own = thread_copies_[number_of_thread()];
  if (own.in_flight.empty()) return;
  const Copy& copy = own.in_flight.front();
  die_of_copy(copy, copy.group == own.commits ? "begins an asynchronous copy here, and never commits it"
                                              : "begins an asynchronous copy here, and never waits for it");
}

void Block::die_of_copy(const Copy& copy, const char* what) {
  place.thread = copy.thread;
  die(what, copy.where);
}

std::uint64_t Block::init_barrier(const void* address, std::ptrdiff_t expected, std::source_location where) {
  const RuntimeCode runtime;
  if (!within(dynamic_shared_memory(), static_cast<const std::byte*>(address), 1) &&
      !within(static_shared_, static_cast<const std::byte*>(address), 1))
    die("initialises a barrier that is not in its shared memory", where);
  if (expected < 1 || expected >= 1 << 20) die("initialises a barrier for less than 1 or more than 2^20 - 1", where);
  auto it = std::find_if(barriers_.begin(), barriers_.end(),
                         [&](const PhaseBarrier& barrier) { return barrier.address == address; });
  if (it == barriers_.end()) {
    it = barriers_.insert(barriers_.end(), PhaseBarrier{.address = address, .expected = expected});
  } else {
    if (!it->waiting.empty()) die("initialises a barrier for which others wait at", where, it->waiting.front().where);
    if (!it->copies.empty()) die("initialises a barrier that copies need, from", where, it->copies.front().where);
    it->expected = it->wanted = expected;
    it->arrived = it->announced = 0;
    it->phase = 0;
  }
  return handle_mark | static_cast<std::uint64_t>(it - barriers_.begin());
}

PhaseBarrier& Block::find_barrier(BarrierName name, std::source_location where) {
  const std::uint64_t number = name.handle ^ handle_mark;
  if (number >= barriers_.size() || barriers_[number].address != name.address)
    die("uses a barrier that its block has not initialised, or whose memory holds something else", where);
  return barriers_[number];
}

void Block::end_phase_if_complete(PhaseBarrier& barrier) {
  if (barrier.arrived == 0 || barrier.arrived < barrier.wanted || barrier.missing_bytes() != 0) return;
  finish(barrier.copies, barrier.copies.size());
  barrier.copies.clear();
  ++barrier.phase;
  barrier.arrived = barrier.announced = 0;
  barrier.wanted = barrier.expected;
  for (const PhaseBarrier::Waiting& waiting : barrier.waiting) runnable_.push_back(waiting.fiber);
  barrier.waiting.clear();
}

// A phase that nobody waits for ends when the next one needs it, so that its copies are late.
std::uint64_t Block::arrive(BarrierName name, std::ptrdiff_t count, bool drops_out, std::source_location where) {
  const RuntimeCode runtime;
  PhaseBarrier& barrier = find_barrier(name, where);
  end_phase_if_complete(barrier);
  if (count < 1 || count > barrier.wanted - barrier.arrived)
    die("arrives at a barrier whose phase does not wait for that many arrivals", where);
  const std::uint64_t phase = barrier.phase;
  barrier.sync[phase % 2].release();
  barrier.arrived += count;
  if (drops_out) barrier.expected -= count;
  if (!barrier.waiting.empty()) end_phase_if_complete(barrier);
  return phase;
}

void Block::expect_bytes(BarrierName name, std::ptrdiff_t bytes, std::source_location where) {
  const RuntimeCode runtime;
  PhaseBarrier& barrier = find_barrier(name, where);
  end_phase_if_complete(barrier);
  if (bytes < 0 || bytes >= 1 << 20) die("announces less than 0 or more than 2^20 - 1 bytes", where);
  barrier.announced += bytes;
}

void Block::copy_async(void* to, const void* from, std::size_t bytes, std::size_t alignment, BarrierName name,
                       bool counted, std::source_location where) {
  const RuntimeCode runtime;
  PhaseBarrier& barrier = find_barrier(name, where);
  end_phase_if_complete(barrier);
  if (bytes == 0) return;
  if (bytes % alignment != 0) die("begins an asynchronous copy whose size is not a multiple of its alignment", where);
  begin_copy({.to = static_cast<std::byte*>(to),
              .from = static_cast<const std::byte*>(from),
              .bytes = bytes,
              .zeros = 0,
              .thread = place.thread,
              .where = where,
              .counts_at_its_barrier = counted},
             alignment, barrier.copies, &barrier.sync[barrier.phase % 2], __builtin_return_address(0));
  if (!barrier.waiting.empty()) end_phase_if_complete(barrier);
}

void Block::wait_for_phase(BarrierName name, std::uint64_t phase, std::source_location where) {
  const RuntimeCode runtime;
  PhaseBarrier& barrier = find_barrier(name, where);
  end_phase_if_complete(barrier);
  if (phase > barrier.phase) die("waits with a token of another barrier", where);
  wait_for_phase(barrier, phase, where);
}

void Block::wait_for_parity(BarrierName name, bool parity, std::source_location where) {
  const RuntimeCode runtime;
  PhaseBarrier& barrier = find_barrier(name, where);
  end_phase_if_complete(barrier);
  const bool is_over = barrier.phase % 2 != parity;  // the last phase of that parity
  wait_for_phase(barrier, is_over ? barrier.phase - 1 : barrier.phase, where);
}

/// At the end of the block.
void Block::finish_barriers() {
  for (PhaseBarrier& barrier : barriers_)
    if (!barrier.copies.empty())
      die_of_copy(barrier.copies.front(), "begins an asynchronous copy here, and nobody waits at its barrier");
}

}  // namespace cuda_on_cpu
