/// A small model of the caches of a GPU, through which the loads and stores of a launch go.
///
/// Blocks begin in the order of their numbers, as many at once as fit on each multiprocessor; when one ends, the next
/// takes its place. The multiprocessors take turns, an access each, and so do the blocks of one of them; in a block the
/// warps go on together. L1 is one per multiprocessor: what shared memory leaves of it. It writes through, and keeps
/// what it writes. L2 is one for all; what was written leaves it when its place is needed. Both are empty at first,
/// have lines of 128 bytes whose sectors of 32 come one by one, 16 ways, and forget what was not used for longest.
///
/// Not modelled: time, so neither what comes early or late nor requests that wait for the same line; what else the real
/// caches do to choose what they forget; that what stays in L2 is written to memory some day.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace cuda_on_cpu::counters {

/// Of the device: PSFLIP_CACHES gives these numbers in this order, with commas. Registers are those of a thread, 0 if
/// they are not known: then they do not limit how many blocks run at once. Without bytes of L1, loads pass it by.
struct CacheDevice {
  std::uint64_t multiprocessors, threads, blocks, shared_bytes, l1_bytes, l2_bytes, registers;

  static std::optional<CacheDevice> from(const char* text);
  /// How many blocks of so many threads and bytes of shared memory a multiprocessor runs at once: 1 at least.
  std::uint64_t resident(std::uint64_t block_threads, std::uint64_t block_shared_bytes) const;
};

/// Lines of 128 bytes, of which each sector is there or not, and written or not.
class Cache {
 public:
  explicit Cache(std::uint64_t bytes);

  struct Result {
    unsigned missing = 0;       ///< sectors, a bit each, of those asked for
    unsigned written_back = 0;  ///< sectors that had to leave and were written
  };
  /// All sectors asked for are there afterwards.
  Result touch(std::uint64_t line, unsigned sectors, bool writes);

 private:
  static constexpr unsigned ways = 16;
  struct Entry {
    std::uint64_t line = ~std::uint64_t{0};
    std::uint8_t there = 0, written = 0;
  };
  std::uint64_t sets_;
  std::vector<Entry> entries_;  ///< of each set from the one that was used last
};

struct CacheCounts {
  std::uint64_t l1_sectors = 0, l1_hits = 0;          ///< looked up by loads and stores; found
  std::uint64_t l2_sectors = 0, l2_hits = 0;          ///< the same, of what L1 did not serve, and stores and atomics
  std::uint64_t memory_read = 0, memory_written = 0;  ///< sectors
};

/// What an access does to a line: loads, stores, or changes it by an atomic, past L1.
enum class Touch : std::uint8_t { load, store, atomic };

class Caches {
 public:
  /// An access: the number of its line, some of its sectors, and Touch, in one word.
  using Access = std::uint64_t;
  static Access access(std::uint64_t line, unsigned sectors, Touch touch) {
    return line << 6 | std::uint64_t{sectors} << 2 | static_cast<unsigned>(touch);
  }

  Caches(const CacheDevice& device, std::uint64_t blocks, std::uint64_t block_threads, std::uint64_t shared_bytes);

  /// The block's accesses in their order. Blocks may come in any order; each goes on when its turn has come.
  void add(std::uint64_t block, std::vector<Access> accesses);
  /// Every block has been added once.
  const CacheCounts& counts() const { return counts_; }

 private:
  struct Slot {
    std::vector<Access> accesses;
    std::size_t next = 0;
    bool idle = false;  ///< there is no block left for it
  };
  struct Multiprocessor {
    Cache l1;
    std::vector<Slot> slots;
    std::size_t turn = 0, busy;
  };
  void go_on();
  bool refill(Slot& slot);
  void execute(Multiprocessor& where, Access access);

  std::uint64_t blocks_, next_block_ = 0;
  std::map<std::uint64_t, std::vector<Access>> waiting_;  ///< by block
  std::vector<Multiprocessor> multiprocessors_;
  std::size_t turn_ = 0, busy_;
  bool has_l1_;
  Cache l2_;
  CacheCounts counts_;
};

}  // namespace cuda_on_cpu::counters
