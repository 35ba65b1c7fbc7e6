#include "caches.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "request.hpp"

namespace cuda_on_cpu::counters {
namespace {

constexpr std::uint64_t line_bytes = 128;
constexpr std::uint64_t reserved_shared_bytes = 1024;                            // by the system, of each block
constexpr std::uint64_t registers_of_multiprocessor = 65536, register_unit = 8;  // a thread has a multiple of these
constexpr std::uint64_t least_l1_bytes = 16 * 1024;

std::uint64_t warps_of(std::uint64_t threads) { return (threads + lanes_per_warp - 1) / lanes_per_warp; }

}  // namespace

std::optional<CacheDevice> CacheDevice::from(const char* text) {
  std::array<std::uint64_t, 7> numbers{};
  const char* const end = text + std::strlen(text);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto [rest, error] = std::from_chars(text, end, numbers[i]);
    if (error != std::errc() || (i + 1 < numbers.size() ? rest == end || *rest != ',' : rest != end)) return {};
    text = rest + 1;
  }
  const auto [multiprocessors, threads, blocks, shared, l1, l2, registers] = numbers;
  if (multiprocessors == 0 || multiprocessors > 4096 || l1 > 1ull << 30 || l2 > 1ull << 36) return {};
  return CacheDevice{multiprocessors, threads, blocks, shared, l1, l2, registers};
}

std::uint64_t CacheDevice::resident(std::uint64_t block_threads, std::uint64_t block_shared_bytes) const {
  const std::uint64_t warps = warps_of(block_threads);
  std::uint64_t most = std::min(blocks, threads / lanes_per_warp / warps);
  if (block_shared_bytes > 0) most = std::min(most, shared_bytes / (block_shared_bytes + reserved_shared_bytes));
  if (registers > 0) {
    const std::uint64_t of_thread = (registers + register_unit - 1) / register_unit * register_unit;
    most = std::min(most, registers_of_multiprocessor / (of_thread * lanes_per_warp) / warps);
  }
  return std::max<std::uint64_t>(most, 1);
}

Cache::Cache(std::uint64_t bytes)
    : sets_(std::max<std::uint64_t>(bytes / (line_bytes * ways), 1)), entries_(sets_ * ways) {}

Cache::Result Cache::touch(std::uint64_t line, unsigned sectors, bool writes) {
  // Neighbouring lines are in different sets, and so are those that lie a power of two apart.
  const std::uint64_t set = (line + line / sets_) % sets_;
  Entry* const first = &entries_[set * ways];
  Entry* const found = std::find_if(first, first + ways - 1, [&](const Entry& entry) { return entry.line == line; });
  Result result;
  Entry entry = *found;
  if (entry.line != line) {  // the last one, whichever it is
    result.written_back = static_cast<unsigned>(std::popcount(entry.written));
    entry = {line, 0, 0};
  }
  result.missing = sectors & ~entry.there;
  entry.there |= static_cast<std::uint8_t>(sectors);
  if (writes) entry.written |= static_cast<std::uint8_t>(sectors);
  std::move_backward(first, found, found + 1);
  *first = entry;
  return result;
}

Caches::Caches(const CacheDevice& device, std::uint64_t blocks, std::uint64_t block_threads, std::uint64_t shared_bytes)
    : blocks_(blocks), busy_(device.multiprocessors), has_l1_(device.l1_bytes > 0), l2_(device.l2_bytes) {
  const std::uint64_t resident = device.resident(block_threads, shared_bytes);
  const std::uint64_t shared = shared_bytes == 0 ? 0 : resident * (shared_bytes + reserved_shared_bytes);
  const std::uint64_t l1 = std::max(device.l1_bytes - std::min(shared, device.l1_bytes), least_l1_bytes);
  for (std::uint64_t i = 0; i < device.multiprocessors; ++i)
    multiprocessors_.push_back({Cache(l1), std::vector<Slot>(resident), 0, resident});
}

void Caches::add(std::uint64_t block, std::vector<Access> accesses) {
  waiting_[block] = std::move(accesses);
  go_on();
}

/// Gives the slot the next block. Returns false if that has not come yet.
bool Caches::refill(Slot& slot) {
  if (next_block_ == blocks_) {
    slot.idle = true;
    return true;
  }
  const auto it = waiting_.find(next_block_);
  if (it == waiting_.end()) return false;
  slot.accesses = std::move(it->second);
  slot.next = 0;
  waiting_.erase(it);
  ++next_block_;
  return true;
}

/// As far as the blocks are there.
void Caches::go_on() {
  while (busy_ > 0) {
    Multiprocessor& here = multiprocessors_[turn_];
    if (here.busy > 0) {
      Slot& slot = here.slots[here.turn];
      if (!slot.idle && slot.next == slot.accesses.size()) {
        if (!refill(slot)) return;
        if (slot.idle && --here.busy == 0) --busy_;
      }
      if (slot.next < slot.accesses.size()) execute(here, slot.accesses[slot.next++]);
      here.turn = (here.turn + 1) % here.slots.size();
    }
    turn_ = (turn_ + 1) % multiprocessors_.size();
  }
}

void Caches::execute(Multiprocessor& where, Access access) {
  const std::uint64_t line = access >> 6;
  const auto sectors = static_cast<unsigned>(access >> 2 & 15);
  const auto touch = static_cast<Touch>(access & 3);
  const auto all = static_cast<unsigned>(std::popcount(sectors));
  unsigned to_l2 = sectors;
  if (has_l1_ && touch != Touch::atomic) {
    const unsigned missing = where.l1.touch(line, sectors, false).missing;
    counts_.l1_sectors += all;
    counts_.l1_hits += all - static_cast<unsigned>(std::popcount(missing));
    if (touch == Touch::load) to_l2 = missing;
  }
  if (to_l2 == 0) return;
  const Cache::Result found = l2_.touch(line, to_l2, touch != Touch::load);
  const auto missing = static_cast<unsigned>(std::popcount(found.missing));
  counts_.l2_sectors += static_cast<unsigned>(std::popcount(to_l2));
  counts_.memory_written += found.written_back;
  // A store needs nothing from memory.
  if (touch != Touch::store) counts_.memory_read += missing;
  counts_.l2_hits += static_cast<unsigned>(std::popcount(to_l2)) - (touch == Touch::store ? 0 : missing);
}

}  // namespace cuda_on_cpu::counters
