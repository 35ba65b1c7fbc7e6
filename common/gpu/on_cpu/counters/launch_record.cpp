#include "launch_record.hpp"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <iterator>
#include <tuple>
#include <utility>

#include "runtime/registry.hpp"

namespace cuda_on_cpu::counters {
namespace {

std::vector<Array> arrays_now(const WrittenArrays& written_bytes) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  std::vector<Array> arrays;
  std::uint64_t bit = 0;
  for (const auto& [address, allocation] : registry.allocations) {
    if (allocation.bytes == 0) continue;
    const auto known = written_bytes.find(address);
    const bool ours_alone = !allocation.of_other_process && allocation.file.number < 0;
    arrays.push_back({address, address + allocation.bytes, bit,
                      known != written_bytes.end() && ours_alone ? known->second : nullptr});
    bit += arrays.back().last_sector() - arrays.back().first_sector() + 1;
  }
  return arrays;
}

std::uint64_t sectors_in(const std::vector<Array>& arrays) {
  if (arrays.empty()) return 0;
  const Array& last = arrays.back();
  return last.first_bit + last.last_sector() - last.first_sector() + 1;
}

/// The requests of a launch, if they were kept, in the order of place, block, phase, time and warp.
void write_requests(std::FILE* file, const LaunchRecord& launch) {
  const auto order = [](const Asked* a) { return std::tuple(a->place, a->block, a->phase, a->time, a->warp); };
  std::vector<const Asked*> sorted;
  for (const Asked& asked : launch.asked) sorted.push_back(&asked);
  std::sort(sorted.begin(), sorted.end(), [&](const Asked* a, const Asked* b) { return order(a) < order(b); });
  const char* between = "\n";
  for (const Asked* a : sorted) {
    const auto place = std::distance(launch.places.begin(), launch.places.find(a->place));
    std::fprintf(file, "%s[%td, %u, %u, %u, %u, %d, [", between, place, a->block, a->phase, a->time, a->warp, a->array);
    between = ",\n";
    const char* comma = "";
    for (unsigned lane = 0; lane < lanes_per_warp; ++lane)
      if ((a->at.active >> lane & 1u) != 0) std::fprintf(file, "%s%u", std::exchange(comma, ", "), lane);
    std::fputs("], [", file);
    comma = "";
    for (unsigned lane = 0; lane < lanes_per_warp; ++lane)
      if ((a->at.active >> lane & 1u) != 0)
        std::fprintf(file, "%s%" PRIuPTR, std::exchange(comma, ", "), a->at.address[lane]);
    std::fputs("]]", file);
  }
}

}  // namespace

void Totals::add(const Totals& other) {
  requests += other.requests;
  lanes += other.lanes;
  sectors += other.sectors;
  least_sectors += other.least_sectors;
  wavefronts += other.wavefronts;
  conflicts += other.conflicts;
  unwritten += other.unwritten;
}

std::uint64_t SectorSet::count() const {
  std::uint64_t sum = 0;
  for (const auto& word : words_) sum += static_cast<unsigned>(std::popcount(word.load(std::memory_order_relaxed)));
  return sum;
}

LaunchRecord::LaunchRecord(std::uint64_t number_, uint3 grid_, uint3 block_, std::size_t dynamic_shared_bytes_,
                           const WrittenArrays& written_bytes)
    : number(number_),
      grid(grid_),
      block(block_),
      dynamic_shared_bytes(dynamic_shared_bytes_),
      arrays(arrays_now(written_bytes)),
      read(sectors_in(arrays)),
      written(sectors_in(arrays)) {}

std::uint64_t LaunchRecord::sectors_of_arrays() const { return sectors_in(arrays); }

const Array* LaunchRecord::find(std::uintptr_t sector) const {
  const auto after =
      std::upper_bound(arrays.begin(), arrays.end(), sector,
                       [](std::uintptr_t wanted, const Array& array) { return wanted < array.first_sector(); });
  if (after == arrays.begin()) return nullptr;
  const Array& array = *(after - 1);
  return sector <= array.last_sector() ? &array : nullptr;
}

bool write_recording(std::FILE* file, const std::string& program, std::uintptr_t loaded_at,
                     const std::vector<const LaunchRecord*>& launches) {
  constexpr const char* kinds[] = {"load", "store", "atomic"};
  constexpr const char* memories[] = {"global", "shared", "constant"};
  std::string name;
  for (const char c : program) {
    if (c == '"' || c == '\\') name += '\\';
    name += c;
  }
  std::fprintf(file, "{\"format\": \"psFlip recording, version 2\", \"program\": \"%s\", \"launches\": [",
               name.c_str());
  const char* between_launches = "\n";
  for (const LaunchRecord* launch : launches) {
    const uint3 g = launch->grid, b = launch->block;
    std::fprintf(file,
                 "%s{\"number\": %" PRIu64
                 ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared_bytes\": %zu, "
                 "\"barriers\": %" PRIu64 ", \"read_sectors\": %" PRIu64 ", \"written_sectors\": %" PRIu64
                 ", \"block_sectors\": %" PRIu64 ", \"caches\": ",
                 between_launches, launch->number, g.x, g.y, g.z, b.x, b.y, b.z, launch->dynamic_shared_bytes,
                 launch->barriers, launch->read.count(), launch->written.count(), launch->block_sectors);
    between_launches = ",\n";
    if (launch->caches) {
      const CacheCounts& c = launch->caches->counts();
      std::fprintf(file,
                   "{\"l1_sectors\": %" PRIu64 ", \"l1_hits\": %" PRIu64 ", \"l2_sectors\": %" PRIu64
                   ", \"l2_hits\": %" PRIu64 ", \"memory_read\": %" PRIu64 ", \"memory_written\": %" PRIu64 "}",
                   c.l1_sectors, c.l1_hits, c.l2_sectors, c.l2_hits, c.memory_read, c.memory_written);
    } else {
      std::fputs("null", file);
    }
    std::fputs(", \"places\": [", file);
    const char* between_places = "\n";
    for (const auto& [key, t] : launch->places) {
      std::fprintf(
          file,
          "%s{\"code\": %" PRIuPTR ", \"kind\": \"%s\", \"memory\": \"%s\", \"bytes\": %u, \"requests\": %" PRIu64
          ", \"lanes\": %" PRIu64 ", \"sectors\": %" PRIu64 ", \"least_sectors\": %" PRIu64 ", \"wavefronts\": %" PRIu64
          ", \"conflicts\": %" PRIu64 ", \"unwritten\": %" PRIu64 "}",
          between_places, t.code - loaded_at, kinds[static_cast<int>(t.kind)], memories[static_cast<int>(t.memory)],
          t.bytes, t.requests, t.lanes, t.sectors, t.least_sectors, t.wavefronts, t.conflicts, t.unwritten);
      between_places = ",\n";
    }
    std::fputs("], \"branches\": [", file);
    between_places = "\n";
    for (const auto& [code, t] : launch->branches) {
      std::fprintf(file,
                   "%s{\"code\": %" PRIuPTR ", \"executed\": %" PRIu64 ", \"divergent\": %" PRIu64
                   ", \"lanes\": %" PRIu64 "}",
                   between_places, code - loaded_at, t.executed, t.divergent, t.lanes);
      between_places = ",\n";
    }
    std::fputs("], \"requests\": [", file);
    write_requests(file, *launch);
    std::fputs("]}", file);
  }
  std::fputs("]}\n", file);
  return std::fflush(file) == 0 && std::ferror(file) == 0;
}

}  // namespace cuda_on_cpu::counters
