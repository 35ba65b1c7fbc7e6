/// What was recorded of a launch, and how it is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "branches.hpp"
#include "caches.hpp"
#include "kernel/vector_types.hpp"
#include "recorder.hpp"
#include "request.hpp"
#include "written_bytes.hpp"

namespace cuda_on_cpu::counters {

enum class Memory : std::uint8_t { global, shared, constant };

/// What all requests of one place in the code add up to.
struct Totals {
  std::uintptr_t code = 0;
  Kind kind{};
  Memory memory{};
  unsigned bytes = 0;  ///< of a lane
  std::uint64_t requests = 0, lanes = 0;
  std::uint64_t sectors = 0, least_sectors = 0;  ///< of global memory
  std::uint64_t wavefronts = 0, conflicts = 0;   ///< of shared memory
  std::uint64_t unwritten = 0;  ///< lanes that read bytes that nobody had written: in shared memory, of the block

  void add(const Totals& other);
};

/// An array in device memory; no two have a sector in common.
struct Array {
  std::uintptr_t begin, end;
  std::uint64_t first_bit;                      ///< of a SectorSet: where its first sector is
  std::shared_ptr<WrittenBytes> written_bytes;  ///< null if other processes may have written, too

  std::uintptr_t first_sector() const { return begin / sector_bytes; }
  std::uintptr_t last_sector() const { return (end - 1) / sector_bytes; }
};

/// Sectors that were touched, each once. Host threads may mark at the same time.
class SectorSet {
 public:
  explicit SectorSet(std::uint64_t sectors) : words_((sectors + 63) / 64) {}
  void mark(std::uint64_t sector) {
    std::atomic<std::uint64_t>& word = words_[sector / 64];
    const std::uint64_t bit = std::uint64_t{1} << sector % 64;
    if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
  }
  std::uint64_t count() const;

 private:
  std::vector<std::atomic<std::uint64_t>> words_;
};

/// A request as it was made; kept if PSFLIP_REQUESTS is set.
struct Asked {
  std::uintptr_t place;  ///< a key of LaunchRecord::places
  unsigned block;        ///< its number in the grid: x counts first
  unsigned phase;        ///< how many barriers of the block had opened
  unsigned time;         ///< how often these lanes had been there in this phase
  unsigned warp;
  int array;   ///< number of the array in device memory; -1: elsewhere
  Request at;  ///< offsets in the array, or in the block's shared memory
};

using WrittenArrays = std::map<std::uintptr_t, std::shared_ptr<WrittenBytes>>;  ///< by address

struct LaunchRecord {
  /// Remembers the arrays that are there now.
  LaunchRecord(std::uint64_t number, uint3 grid, uint3 block, std::size_t dynamic_shared_bytes,
               const WrittenArrays& written_bytes);

  std::uint64_t number;  ///< of the program's launches, from 0
  uint3 grid, block;
  std::size_t dynamic_shared_bytes;
  std::vector<Array> arrays;  ///< by address
  SectorSet read, written;
  std::mutex mutex;                         ///< of what follows, while host threads are at work
  std::map<std::uintptr_t, Totals> places;  ///< by a key that begins with the place in the code
  std::uint64_t barriers = 0;               ///< how often one opened, in all blocks
  std::uint64_t block_sectors = 0;          ///< that blocks read, different ones of each block
  BranchMap branches;
  std::unique_ptr<Caches> caches;  ///< null: none are modelled

  std::vector<Asked> asked;  ///< in no particular order

  std::uint64_t sectors_of_arrays() const;

  /// The array that has bytes in this sector (address / 32); null if none does.
  const Array* find(std::uintptr_t sector) const;
};

/// Writes a recording as JSON: {"format", "program": its file, "launches": [{"number", "grid", "block":
/// [x, y, z], "shared_bytes", "barriers", "read_sectors", "written_sectors": different ones,
/// "block_sectors": read, different ones of each block, "caches": CacheCounts or null, "places": [{"code": in the
/// program's file, as addr2line wants it, "kind", "memory", "bytes": of a lane, and Totals}], "branches": [{"code", and
/// BranchTotals}], "requests": [[place, block, phase, time, warp, array, [lane, ...], [offset, ...]], ...] in the order
/// of these numbers}]}. Returns whether all was written.
bool write_recording(std::FILE* file, const std::string& program, std::uintptr_t loaded_at,
                     const std::vector<const LaunchRecord*>& launches);

}  // namespace cuda_on_cpu::counters
