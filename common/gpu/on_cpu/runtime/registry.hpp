/// What the process has of device memory and pinned host memory, and in which pages it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "memory.hpp"

namespace cuda_on_cpu {

/// Where memory that processes share comes from: a file without a name, which lives as long as a process has it open
/// or mapped.
struct SharedFile {
  int process = 0, number = -1;  ///< the process that allocated the memory, and its file descriptor
  std::uint64_t identity = 0;    ///< the file's inode: the descriptor may since mean another file
  bool operator==(const SharedFile&) const = default;
};

struct Allocation {
  std::size_t bytes = 0;
  cudaMemoryType type = cudaMemoryTypeDevice;
  int device = 0;              ///< for host memory: that which was current
  std::byte* pages = nullptr;  ///< hold it and nothing else; behind them, but in heap memory, one that nobody may touch
  std::size_t page_bytes = 0;  ///< without that one
  std::size_t offset = 0;      ///< in the pages
  bool from_heap = false;
  SharedFile file;  ///< none until another process may open it
  bool of_other_process = false;
  std::size_t openings = 0;  ///< of another process's memory, that have not been closed

  bool in_device_memory() const { return type == cudaMemoryTypeDevice; }
  /// What it takes of the device's memory.
  std::size_t device_bytes() const { return in_device_memory() && !of_other_process ? bytes : 0; }
};

/// Everything allocated through the runtime, by address. Lock `mutex` first.
struct Registry {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> allocations;
  std::vector<std::size_t> used;  ///< bytes, by device
  std::vector<int> at_work;       ///< devices whose kernels run, any_device for copies; matters with PSFLIP_GUARD=1

  static Registry& instance();
  /// The allocation that holds the bytes, or end().
  std::map<std::uintptr_t, Allocation>::iterator find(const void* address, std::size_t bytes);
  /// How the pages of an allocation may be touched now.
  int protection(const Allocation& allocation) const;

 private:
  Registry();
};

inline constexpr int any_device = -1;

/// Reserves page_bytes and one page more, which nobody may touch. Null if there is no room.
std::byte* reserve_pages(std::size_t page_bytes);
/// Gives the pages back, whatever they are.
void give_back_pages(const Allocation& allocation);
/// Tells AddressSanitizer to report accesses to those bytes of the pages that are not the allocation's.
void poison_rest_of_pages(const Allocation& allocation);
void unpoison_pages(const Allocation& allocation);

}  // namespace cuda_on_cpu
