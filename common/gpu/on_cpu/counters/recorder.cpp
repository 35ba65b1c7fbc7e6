#include "recorder.hpp"

#include <link.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "branches.hpp"
#include "caches.hpp"
#include "kernel/block.hpp"
#include "kernel/observer.hpp"
#include "launch_record.hpp"
#include "request.hpp"

namespace cuda_on_cpu::counters {
namespace {

constexpr unsigned part_bit = 48, memory_bit = 60;  // of a key; addresses of code are below 2^47

/// What one place in the code does in the block that runs, and its totals in the launch.
struct Site {
  std::uintptr_t key = 0;
  Totals totals;
  std::vector<unsigned> times;    ///< by thread: how often it was here since the last barrier
  std::vector<Request> requests;  ///< [times * warps + warp], not counted yet
  std::size_t used = 0;           ///< of them
};

/// Whether every request is kept, not only what they add up to. For small problems.
const bool keeps_requests = std::getenv("PSFLIP_REQUESTS") != nullptr;

/// The file of the program, where it lies in memory, and what else of its module matters.
struct Module {
  std::uintptr_t loaded_at = 0;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> variables;  ///< constant memory, as CUDA sees it
};
const Module& this_module() {
  static const Module module = [] {
    Module found;
    const auto look = [](dl_phdr_info* info, std::size_t, void* result) {
      auto& m = *static_cast<Module*>(result);
      const auto here = reinterpret_cast<std::uintptr_t>(&this_module);
      bool own = false;
      m.variables.clear();
      for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr, end = begin + segment.p_memsz;
        own = own || (begin <= here && here < end);
        m.variables.emplace_back(begin, end);
      }
      m.loaded_at = info->dlpi_addr;
      return own ? 1 : 0;
    };
    dl_iterate_phdr(look, &found);
    return found;
  }();
  return module;
}

/// Where a thread_local variable lies that is the runtime's own and no __shared__ variable.
template <class T>
std::pair<std::uintptr_t, std::uintptr_t> extent_of(T& variable) {
  return {reinterpret_cast<std::uintptr_t>(&variable), reinterpret_cast<std::uintptr_t>(&variable + 1)};
}

/// The blocks that one host thread runs, one after the other.
class Worker {
 public:
  void join(LaunchRecord& launch) {
    launch_ = &launch;
    threads_ = launch.block.x * launch.block.y * launch.block.z;
    warps_ = (threads_ + lanes_per_warp - 1) / lanes_per_warp;
    cached_ = std::make_unique<std::array<Cached, cache_entries>>();
    sites_.clear();
    branches_.join(threads_);
    steps_.assign(threads_, 0);
    barriers_ = block_sectors_ = 0;
    last_block_.assign(launch.sectors_of_arrays(), 0);
    blocks_ = 0;
  }

  void leave() {
    const std::lock_guard lock(launch_->mutex);
    for (const auto& [key, site] : sites_) {
      if (site->totals.requests == 0) continue;
      const auto [it, is_new] = launch_->places.try_emplace(key, site->totals);
      if (!is_new) it->second.add(site->totals);
    }
    launch_->barriers += barriers_;
    launch_->block_sectors += block_sectors_;
    branches_.leave(launch_->branches);
    launch_->asked.insert(launch_->asked.end(), asked_.begin(), asked_.end());
    asked_.clear();
    sites_.clear();
    launch_ = nullptr;
  }

  void begin(const Block& block) {
    ++blocks_;
    number_ = (std::uint64_t{place.block.z} * gridDim.y + place.block.y) * gridDim.x + place.block.x;
    std::fill(steps_.begin(), steps_.end(), 0);
    phase_ = 0;
    // Where shared memory is differs from block to block of a cluster, and from launch to launch.
    const auto dynamic = block.dynamic_shared_memory(), own = block.thread_local_memory();
    const auto begin = reinterpret_cast<std::uintptr_t>(dynamic.data());
    dynamic_ = {begin, begin + dynamic.size()};
    static_ = {reinterpret_cast<std::uintptr_t>(own.data()), reinterpret_cast<std::uintptr_t>(own.data()) + own.size()};
    written_.assign(block.blocks_in_cluster() == 1 ? dynamic.size() + own.size() : 0, 0);
    runtime_ = {extent_of(place), extent_of(blockDim), extent_of(gridDim), extent_of(running_block), extent_of(block)};
  }

  void barrier() {
    ++barriers_;
    count();
    ++phase_;
  }

  /// Counts what is complete of the block: everything, at a barrier and at the end.
  void count() {
    for (Site* site : touched_) count(*site);
    touched_.clear();
    branches_.count();
    if (!launch_->caches) return;
    // The warps of a block go on together.
    std::stable_sort(steps_done_.begin(), steps_done_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [step, access] : steps_done_) accesses_.push_back(access);
    steps_done_.clear();
  }
  void end() {
    count();
    if (!launch_->caches) return;
    const std::lock_guard lock(launch_->mutex);
    launch_->caches->add(number_, accesses_);
    accesses_.clear();
  }

  void compares(std::uintptr_t code) { branches_.compares(running_block->number_of_thread(), code); }
  void begins(std::uintptr_t code) { branches_.begins(running_block->number_of_thread(), code); }

  void record(Kind kind, std::uintptr_t code, unsigned part, std::uintptr_t address, unsigned bytes) {
    const std::uintptr_t key = code | std::uintptr_t{part} << part_bit;
    Cached& cached = (*cached_)[(key ^ key >> 7 ^ key >> part_bit << 5) % cache_entries];
    if (cached.key != key || address < cached.extent.first || address >= cached.extent.second)
      find(cached, key, kind, code, address, bytes);
    if (cached.site == nullptr) return;
    Site& site = *cached.site;
    const unsigned thread = running_block->number_of_thread();
    const std::size_t index = std::size_t{site.times[thread]++} * warps_ + thread / lanes_per_warp;
    if (site.used == 0) touched_.push_back(&site);
    if (index >= site.used) {
      if (index >= site.requests.size()) site.requests.resize(index / warps_ * warps_ + warps_);
      site.used = index + 1;
    }
    Request& request = site.requests[index];
    if (site.totals.memory == Memory::shared && !written_.empty()) note_written(site.totals, address);
    if (cached.array != nullptr) note_written(site.totals, address, *cached.array);
    const std::uint32_t step = steps_[thread]++;
    if (request.active == 0) request.step = step;
    request.active |= 1u << thread % lanes_per_warp;
    request.address[thread % lanes_per_warp] = address;
  }

 private:
  using Extent = std::pair<std::uintptr_t, std::uintptr_t>;
  static constexpr std::size_t cache_entries = 4096;
  /// A place in the code most often goes on with the array that it touched before.
  struct Cached {
    std::uintptr_t key = 0;
    Extent extent{1, 0};
    Site* site = nullptr;          ///< null: of no interest
    const Array* array = nullptr;  ///< in device memory, if it is known who writes there
  };

  static bool holds(const Extent& extent, std::uintptr_t address) {
    return extent.first <= address && address < extent.second;
  }

  void find(Cached& cached, std::uintptr_t key, Kind kind, std::uintptr_t code, std::uintptr_t address,
            unsigned bytes) {
    cached = {key, {address, address + 1}, nullptr, nullptr};
    Memory memory{};
    if (holds(dynamic_, address)) {
      memory = Memory::shared;
      cached.extent = dynamic_;
    } else if (holds(static_, address)) {
      if (std::any_of(runtime_.begin(), runtime_.end(), [&](const Extent& e) { return holds(e, address); })) return;
      memory = Memory::shared;
      cached.extent = static_;
      for (const Extent& e : runtime_) {
        if (e.second <= address) cached.extent.first = std::max(cached.extent.first, e.second);
        if (e.first > address) cached.extent.second = std::min(cached.extent.second, e.first);
      }
    } else if (const Array* array = launch_->find(address / sector_bytes);
               array != nullptr && holds({array->begin, array->end}, address)) {
      memory = Memory::global;
      cached.extent = {array->begin, array->end};
      if (array->written_bytes) cached.array = array;
    } else {
      const auto& variables = this_module().variables;
      if (std::none_of(variables.begin(), variables.end(), [&](const Extent& e) { return holds(e, address); })) return;
      memory = Memory::constant;
    }
    std::unique_ptr<Site>& site = sites_[key | static_cast<std::uintptr_t>(memory) << memory_bit];
    if (!site) {
      site = std::make_unique<Site>();
      site->key = key | static_cast<std::uintptr_t>(memory) << memory_bit;
      site->totals = {.code = code, .kind = kind, .memory = memory, .bytes = bytes};
      site->times.resize(threads_);
    }
    cached.site = site.get();
  }

  /// Keeps account of which bytes of shared memory the block has written.
  void note_written(Totals& totals, std::uintptr_t address) {
    const std::size_t offset = holds(dynamic_, address) ? address - dynamic_.first
                                                        : address - static_.first + (dynamic_.second - dynamic_.first);
    const auto bytes = std::span(written_).subspan(offset, totals.bytes);
    if (totals.kind != Kind::store) totals.unwritten += std::find(bytes.begin(), bytes.end(), 0) != bytes.end();
    if (totals.kind != Kind::load) std::fill(bytes.begin(), bytes.end(), 1);
  }

  /// The same of device memory.
  static void note_written(Totals& totals, std::uintptr_t address, const Array& array) {
    const std::size_t offset = address - array.begin, bytes = std::min<std::size_t>(totals.bytes, array.end - address);
    if (totals.kind != Kind::store) totals.unwritten += !array.written_bytes->hold(offset, bytes);
    if (totals.kind != Kind::load) array.written_bytes->mark(offset, bytes);
  }

  void count(Site& site) {
    Totals& t = site.totals;
    const Array* array = nullptr;
    for (std::size_t i = 0; i < site.used; ++i) {
      Request& request = site.requests[i];
      if (request.active == 0) continue;
      if (keeps_requests) keep(site, request, i);
      ++t.requests;
      t.lanes += static_cast<unsigned>(std::popcount(request.active));
      if (t.memory == Memory::shared) {
        const Wavefronts wavefronts = wavefronts_of(request, t.bytes);
        t.wavefronts += wavefronts.count;
        t.conflicts += wavefronts.conflicts;
      } else if (t.memory == Memory::global) {
        const Sectors sectors = sectors_of(request, t.bytes);
        t.sectors += sectors.count;
        t.least_sectors += sectors.least;
        if (launch_->caches) note_lines(t.kind, request.step, static_cast<unsigned>(i % warps_), sectors);
        for (unsigned s = 0; s < sectors.count; ++s) {
          const std::uintptr_t sector = sectors.number[s];
          if (array == nullptr || sector < array->first_sector() || sector > array->last_sector())
            array = launch_->find(sector);
          if (array == nullptr) continue;
          const std::uint64_t bit = array->first_bit + sector - array->first_sector();
          if (t.kind != Kind::store) launch_->read.mark(bit);
          if (t.kind == Kind::load && last_block_[bit] != blocks_) {
            last_block_[bit] = blocks_;
            ++block_sectors_;
          }
          if (t.kind != Kind::load) launch_->written.mark(bit);
        }
      }
      request.active = 0;
    }
    site.used = 0;
    std::fill(site.times.begin(), site.times.end(), 0);
  }

  /// Keeps what the caches are to see: a line at a time, in the order of step and warp.
  void note_lines(Kind kind, std::uint32_t step, unsigned warp, const Sectors& sectors) {
    constexpr unsigned per_line = 4;
    const Touch touch = kind == Kind::load ? Touch::load : kind == Kind::store ? Touch::store : Touch::atomic;
    for (unsigned s = 0; s < sectors.count;) {
      const std::uintptr_t line = sectors.number[s] / per_line;
      unsigned of_line = 0;
      for (; s < sectors.count && sectors.number[s] / per_line == line; ++s)
        of_line |= 1u << sectors.number[s] % per_line;
      steps_done_.emplace_back(std::uint64_t{step} << 32 | warp, Caches::access(line, of_line, touch));
    }
  }

  /// Remembers a request by what does not change from run to run.
  void keep(const Site& site, const Request& request, std::size_t index) {
    Asked asked{site.key,
                static_cast<unsigned>(number_),
                phase_,
                static_cast<unsigned>(index / warps_),
                static_cast<unsigned>(index % warps_),
                -1,
                request};
    const Memory memory = site.totals.memory;
    for (unsigned lane = 0; lane < lanes_per_warp; ++lane) {
      if ((request.active >> lane & 1u) == 0) continue;
      std::uintptr_t& address = asked.at.address[lane];
      const Array* array = memory == Memory::global ? launch_->find(address / sector_bytes) : nullptr;
      if (array != nullptr) {
        asked.array = static_cast<int>(array - launch_->arrays.data());
        address -= array->begin;
      } else if (memory == Memory::shared) {
        address -= holds(dynamic_, address) ? dynamic_.first : static_.first;
      } else {
        address -= this_module().loaded_at;
      }
    }
    asked_.push_back(asked);
  }

  LaunchRecord* launch_ = nullptr;
  std::vector<Asked> asked_;
  unsigned phase_ = 0;  ///< barriers of the block so far
  unsigned threads_ = 0, warps_ = 0;
  std::unique_ptr<std::array<Cached, cache_entries>> cached_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Site>> sites_;
  std::vector<Site*> touched_;
  std::uint64_t barriers_ = 0, block_sectors_ = 0;
  std::vector<std::uint32_t> last_block_;  ///< by sector: which of this thread's blocks read it last
  std::uint32_t blocks_ = 0;
  std::uint64_t number_ = 0;  ///< of the block that runs, in the grid
  Branches branches_;
  std::vector<std::uint32_t> steps_;                                  ///< by thread: accesses since the block began
  std::vector<std::pair<std::uint64_t, Caches::Access>> steps_done_;  ///< with their steps and warps, not sorted yet
  std::vector<Caches::Access> accesses_;                              ///< of the block, in order
  Extent dynamic_{}, static_{};
  /// A flag a byte, of dynamic shared memory first. None in a cluster, where other blocks write there, too.
  std::vector<unsigned char> written_;
  std::array<Extent, 5> runtime_{};
};

thread_local Worker own_worker;
thread_local constinit Worker* worker = nullptr;  ///< while a block runs on this host thread

/// What a worker does itself is not to be counted. It would be: the linker keeps one copy of a function of the standard
/// library that is not inlined, and that may be the kernels', which calls the recorder.
template <class Work>
void by_worker(Work work) {
  Worker* const own = worker;
  if (own == nullptr) return;
  worker = nullptr;
  work(*own);
  worker = own;
}

[[noreturn]] void refuse(const char* variable, const char* value, const char* why) {
  std::fprintf(stderr, "%s: %s is '%s': %s\n", program_invocation_short_name, variable, value, why);
  std::exit(2);
}

class Recorder final : public Observer {
 public:
  explicit Recorder(const char* name) : name_(name) {
    if (const char* caches = std::getenv("PSFLIP_CACHES"); caches != nullptr) {
      device_ = CacheDevice::from(caches);
      if (!device_)
        refuse(
            "PSFLIP_CACHES", caches,
            "allowed are seven numbers with commas: multiprocessors; threads, blocks and bytes of shared memory, of L1 "
            "with it, of each; bytes of L2; registers of a thread, or 0");
    }
    file_ = std::fopen(name, "w");
    if (file_ == nullptr) refuse("PSFLIP_COUNTERS", name, std::strerror(errno));
    observer = this;
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() override {
    observer = nullptr;
    std::sort(done_.begin(), done_.end(), [](const auto& a, const auto& b) { return a->number < b->number; });
    std::vector<const LaunchRecord*> launches;
    for (const auto& launch : done_) launches.push_back(launch.get());
    std::error_code error;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    const bool written = write_recording(file_, program, this_module().loaded_at, launches);
    if (std::fclose(file_) != 0 || !written)
      std::fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, name_, std::strerror(errno));
  }

  void launch_begins(const Grid& grid) override {
    std::unique_lock lock(mutex_);
    const WrittenArrays written = written_;
    const std::uint64_t number = launches_++;
    lock.unlock();  // arrays are counted under the registry's lock, and whoever has that may wait for this one
    auto record =
        std::make_unique<LaunchRecord>(number, grid.extent, grid.block_extent, grid.dynamic_shared_bytes, written);
    const auto volume = [](uint3 e) { return std::uint64_t{e.x} * e.y * e.z; };
    if (device_)
      record->caches =
          std::make_unique<Caches>(*device_, volume(grid.extent), volume(grid.block_extent), grid.dynamic_shared_bytes);
    lock.lock();
    running_[&grid] = std::move(record);
  }
  void launch_ends(const Grid& grid) override {
    const std::lock_guard lock(mutex_);
    const auto it = running_.find(&grid);
    done_.push_back(std::move(it->second));
    running_.erase(it);
  }
  void joins(const Grid& grid) override {
    const std::lock_guard lock(mutex_);
    own_worker.join(*running_.at(&grid));
  }
  void leaves() override { own_worker.leave(); }
  void block_begins(const Block& block) override {
    own_worker.begin(block);
    worker = &own_worker;
  }
  void barrier_opens() override {
    by_worker([](Worker& own) { own.barrier(); });
  }
  // What a cp.async does by one instruction is shown as what it moves: a load and a store.
  void copy_begins(const void* to, const void* from, std::size_t bytes, const void* place) override {
    const std::uintptr_t code = reinterpret_cast<std::uintptr_t>(place) - 1;
    record_range(Kind::load, code, reinterpret_cast<std::uintptr_t>(from), bytes);
    record_range(Kind::store, code, reinterpret_cast<std::uintptr_t>(to), bytes);
  }
  void block_ends() override {
    worker = nullptr;
    own_worker.end();
  }

  void memory_begins(const void* begin, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    written_[reinterpret_cast<std::uintptr_t>(begin)] = std::make_shared<WrittenBytes>(bytes);
  }
  void memory_is_written(const void* begin, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const auto after = written_.upper_bound(address);
    if (after == written_.begin()) return;
    const auto& [array, written] = *std::prev(after);
    if (address - array < written->bytes()) written->mark(address - array, bytes);
  }
  void memory_ends(const void* begin) override {
    const std::lock_guard lock(mutex_);
    written_.erase(reinterpret_cast<std::uintptr_t>(begin));
  }

 private:
  const char* name_;
  std::FILE* file_ = nullptr;
  std::optional<CacheDevice> device_;  ///< whose caches are modelled
  std::mutex mutex_;
  std::uint64_t launches_ = 0;
  std::map<const Grid*, std::unique_ptr<LaunchRecord>> running_;
  std::vector<std::unique_ptr<LaunchRecord>> done_;
  WrittenArrays written_;  ///< of this process's allocations in device memory
};

/// Made before main(), so that it ends after everything that could launch.
const std::unique_ptr<Recorder> recorder = [] {
  const char* name = std::getenv("PSFLIP_COUNTERS");
  return name != nullptr ? std::make_unique<Recorder>(name) : nullptr;
}();

}  // namespace

void record(Kind kind, std::uintptr_t code, std::uintptr_t address, unsigned bytes) {
  by_worker([&](Worker& own) { own.record(kind, code, 0, address, bytes); });
}

void record_range(Kind kind, std::uintptr_t code, std::uintptr_t address, std::size_t bytes) {
  by_worker([&](Worker& own) {
    for (unsigned part = 0; bytes > 0; ++part) {
      std::size_t word = 16;
      while (word > bytes || address % word != 0) word /= 2;
      own.record(kind, code, part % (1u << (memory_bit - part_bit)), address, static_cast<unsigned>(word));
      address += word;
      bytes -= word;
    }
  });
}

void record_comparison(std::uintptr_t code) {
  by_worker([&](Worker& own) { own.compares(code); });
}
void record_basic_block(std::uintptr_t code) {
  by_worker([&](Worker& own) { own.begins(code); });
}

}  // namespace cuda_on_cpu::counters
