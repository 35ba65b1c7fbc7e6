#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "kernel/crash.hpp"
#include "kernel/observer.hpp"
#include "kernel/sanitizers.hpp"
#include "registry.hpp"
#include "settings.hpp"

namespace cuda_on_cpu {
namespace {

constexpr std::size_t alignment = 256;  // what cudaMalloc promises
constexpr int rubbish = 0xA5;
#ifdef CUDA_ON_CPU_ASAN
constexpr bool heap_has_red_zones = true;
#else
constexpr bool heap_has_red_zones = false;
#endif

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }
std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Registry::Registry() : used(static_cast<std::size_t>(settings().devices)) { explain_crashes(); }

Registry& Registry::instance() {
  static Registry& registry = *new Registry;  // never destroyed: other static objects may free device memory later
  return registry;
}

std::map<std::uintptr_t, Allocation>::iterator Registry::find(const void* address, std::size_t bytes) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  auto it = allocations.upper_bound(a);
  if (it == allocations.begin()) return allocations.end();
  --it;
  const std::size_t offset = a - it->first;
  return offset <= it->second.bytes && bytes <= it->second.bytes - offset ? it : allocations.end();
}

int Registry::protection(const Allocation& a) const {
  const auto may_touch = [&](int device) { return device == any_device || peer_access(device, a.device); };
  const bool open =
      !settings().guard || !a.in_device_memory() || std::any_of(at_work.begin(), at_work.end(), may_touch);
  return open ? PROT_READ | PROT_WRITE : PROT_NONE;
}

std::byte* reserve_pages(std::size_t page_bytes) {
  void* pages = mmap(nullptr, page_bytes + page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<std::byte*>(pages);
}

void give_back_pages(const Allocation& a) {
  unpoison_pages(a);
  const bool shared_by_us = a.file.number >= 0 && !a.of_other_process;
  if (!a.from_heap) {
    munmap(a.pages, a.page_bytes + page());
  } else {
    if (shared_by_us)
      static_cast<void>(
          mmap(a.pages, a.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    std::free(a.pages);
  }
  if (!shared_by_us) return;
  [[maybe_unused]] const int error = ftruncate(a.file.number, 0);  // who still touches it crashes
  close(a.file.number);
}

void poison_rest_of_pages([[maybe_unused]] const Allocation& a) {
#ifdef CUDA_ON_CPU_ASAN
  ASAN_POISON_MEMORY_REGION(a.pages, a.offset);
  ASAN_POISON_MEMORY_REGION(a.pages + a.offset + a.bytes, a.page_bytes - a.offset - a.bytes);
#endif
}

void unpoison_pages([[maybe_unused]] const Allocation& a) {
#ifdef CUDA_ON_CPU_ASAN
  ASAN_UNPOISON_MEMORY_REGION(a.pages, a.page_bytes);
#endif
}

namespace {

/// Heap memory begins where its pages begin, so that its red zone is before it; other memory ends where its pages end
/// (but for its alignment), so that the page that nobody may touch is behind it.
bool take_pages(Allocation& a) {
  a.page_bytes = round_up(a.bytes, page());
  if (a.from_heap) {
    a.pages = static_cast<std::byte*>(std::aligned_alloc(page(), a.page_bytes));
    return a.pages != nullptr;
  }
  a.pages = reserve_pages(a.page_bytes);
  a.offset = a.page_bytes - round_up(a.bytes, alignment);
  if (a.pages == nullptr) return false;
  if (mprotect(a.pages, a.page_bytes, PROT_READ | PROT_WRITE) == 0) return true;
  give_back_pages(a);
  return false;
}

cudaError_t allocate(void** pointer, std::size_t bytes, cudaMemoryType type) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  Allocation allocation;
  allocation.bytes = bytes;
  allocation.type = type;
  allocation.device = current_device();
  std::size_t& used = registry.used[static_cast<std::size_t>(allocation.device)];
  if (allocation.device_bytes() > settings().memory_bytes - used) return report(cudaErrorMemoryAllocation);

  allocation.from_heap = heap_has_red_zones && !settings().guard;
  if (!take_pages(allocation)) return report(cudaErrorMemoryAllocation);
  std::byte* memory = allocation.pages + allocation.offset;
  if (settings().schedule != Schedule::forward) std::memset(memory, rubbish, bytes);
  poison_rest_of_pages(allocation);
  if (settings().guard) mprotect(allocation.pages, allocation.page_bytes, registry.protection(allocation));
  used += allocation.device_bytes();
  registry.allocations.emplace(reinterpret_cast<std::uintptr_t>(memory), allocation);
  if (observer != nullptr && allocation.in_device_memory()) observer->memory_begins(memory, bytes);
  *pointer = memory;
  return cudaSuccess;
}

cudaError_t release(void* pointer, bool host) {
  if (pointer == nullptr) return cudaSuccess;
  Registry& registry = Registry::instance();
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, pointer);
  finish_device(attributes.device >= 0 ? attributes.device : current_device());  // before the lock: that runs kernels

  const std::lock_guard lock(registry.mutex);
  const auto it = registry.allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (it == registry.allocations.end() || it->second.in_device_memory() == host || it->second.of_other_process)
    return report(cudaErrorInvalidValue);
  registry.used[static_cast<std::size_t>(it->second.device)] -= it->second.device_bytes();
  if (observer != nullptr) observer->memory_ends(pointer);
  give_back_pages(it->second);
  registry.allocations.erase(it);
  return cudaSuccess;
}

/// The type of memory at `address`, or an error if an allocation ends before the copy does.
cudaError_t locate(const void* address, std::size_t bytes, cudaMemoryType* type) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  const auto begin = registry.find(address, 1), none = registry.allocations.end();
  *type = begin == none ? cudaMemoryTypeUnregistered : begin->second.type;
  return begin == none || registry.find(address, bytes) != none ? cudaSuccess : cudaErrorInvalidValue;
}

bool on_device(cudaMemoryType type) { return type == cudaMemoryTypeDevice; }
bool on_host(cudaMemoryType type) { return type != cudaMemoryTypeDevice; }

bool direction_fits(cudaMemcpyKind kind, cudaMemoryType target, cudaMemoryType source) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return on_host(target) && on_host(source);
    case cudaMemcpyHostToDevice:
      return on_device(target) && on_host(source);
    case cudaMemcpyDeviceToHost:
      return on_host(target) && on_device(source);
    case cudaMemcpyDeviceToDevice:
      return on_device(target) && on_device(source);
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

/// Rows of bytes, and how far apart they begin.
struct Rows {
  std::size_t width, height, target_pitch, source_pitch;

  std::size_t extent(std::size_t pitch) const { return (height - 1) * pitch + width; }
};

cudaError_t start_copy(void* target, const void* source, const Rows& rows, cudaMemcpyKind kind, cudaStream_t stream) {
  if (rows.width > rows.target_pitch || rows.width > rows.source_pitch) return cudaErrorInvalidPitchValue;
  if (rows.width == 0 || rows.height == 0) return cudaSuccess;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (const cudaError_t error = check_stream(stream)) return error;
  cudaMemoryType to, from;
  if (target == nullptr || source == nullptr || locate(target, rows.extent(rows.target_pitch), &to) ||
      locate(source, rows.extent(rows.source_pitch), &from) || !direction_fits(kind, to, from))
    return cudaErrorInvalidValue;
  const auto copy = [=](const void* begin) {
    const DeviceMemoryAccess access(any_device);
    for (std::size_t row = 0; row < rows.height; ++row) {
      std::byte* const to_row = static_cast<std::byte*>(target) + row * rows.target_pitch;
      std::memmove(to_row, static_cast<const std::byte*>(begin) + row * rows.source_pitch, rows.width);
      if (observer != nullptr) observer->memory_is_written(to_row, rows.width);
    }
  };
  if (from == cudaMemoryTypeUnregistered && settings().lazy_streams && !capturing(stream)) {
    // from ordinary host memory CUDA returns once the source is safe in a buffer of its own
    const auto* begin = static_cast<const std::byte*>(source);
    enqueue(stream, [copy, staged = std::vector<std::byte>(begin, begin + rows.extent(rows.source_pitch))] {
      copy(staged.data());
    });
  } else {
    enqueue(stream, [copy, source] { copy(source); });
  }
  if (capturing(stream)) return cudaSuccess;
  // to ordinary host memory it returns once the copy is there
  if (to == cudaMemoryTypeUnregistered || (from == cudaMemoryTypeUnregistered && !settings().lazy_streams))
    finish(stream);
  return cudaSuccess;
}

Rows one_row(std::size_t bytes) { return {bytes, 1, bytes, bytes}; }

void protect_device_memory(const Registry& registry) {
  for (const auto& [address, allocation] : registry.allocations)
    if (allocation.in_device_memory())
      mprotect(allocation.pages, allocation.page_bytes, registry.protection(allocation));
}

}  // namespace

DeviceMemoryAccess::DeviceMemoryAccess(int device) : device_(device) {
  if (!settings().guard) return;
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.at_work.push_back(device);
  protect_device_memory(registry);
}

DeviceMemoryAccess::~DeviceMemoryAccess() {
  if (!settings().guard) return;
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.at_work.erase(std::find(registry.at_work.begin(), registry.at_work.end(), device_));
  protect_device_memory(registry);
}

std::optional<std::size_t> offset_in_array(const void* address) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  const auto it = registry.find(address, 1);
  if (it == registry.allocations.end() || !it->second.in_device_memory()) return std::nullopt;
  return reinterpret_cast<std::uintptr_t>(address) - it->first;
}

const char* describe_address(const void* address) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  const auto& allocations = Registry::instance().allocations;
  const auto it = allocations.upper_bound(a);
  if (it != allocations.begin()) {
    const auto& [begin, allocation] = *std::prev(it);
    if (a - begin < allocation.bytes) return "inside device memory, which this code may not touch";
    if (a - begin < allocation.page_bytes + 4096) return "just behind an array in device memory";
  }
  return "which is no array in device memory";
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) { return allocate(pointer, bytes, cudaMemoryTypeDevice); }
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) { return allocate(pointer, bytes, cudaMemoryTypeHost); }
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return allocate(pointer, bytes, cudaMemoryTypeHost);
}

cudaError_t cudaFree(void* pointer) { return release(pointer, false); }
cudaError_t cudaFreeHost(void* pointer) { return release(pointer, true); }

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  *total = settings().memory_bytes;
  *free = *total - registry.used[static_cast<std::size_t>(current_device())];
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  const auto it = registry.find(pointer, 1);
  void* address = const_cast<void*>(pointer);
  if (it == registry.allocations.end()) {
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
  } else {
    const Allocation& allocation = it->second;
    *attributes = {allocation.type, allocation.device, address, allocation.in_device_memory() ? nullptr : address};
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return report(start_copy(target, source, one_row(bytes), kind, stream));
}

cudaError_t cudaMemcpy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = start_copy(target, source, one_row(bytes), kind, nullptr);
  finish(nullptr);
  return report(error);
}

cudaError_t cudaMemcpy2DAsync(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch,
                              std::size_t width_bytes, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return report(start_copy(target, source, {width_bytes, height, target_pitch, source_pitch}, kind, stream));
}

cudaError_t cudaMemcpy2D(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch,
                         std::size_t width_bytes, std::size_t height, cudaMemcpyKind kind) {
  const cudaError_t error =
      cudaMemcpy2DAsync(target, target_pitch, source, source_pitch, width_bytes, height, kind, nullptr);
  finish(nullptr);
  return error;
}

cudaError_t cudaMemcpyPeerAsync(void* target, int target_device, const void* source, int source_device,
                                std::size_t bytes, cudaStream_t stream) {
  if (!valid_device(target_device) || !valid_device(source_device)) return report(cudaErrorInvalidDevice);
  return cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpyPeer(void* target, int target_device, const void* source, int source_device, std::size_t bytes) {
  const cudaError_t error = cudaMemcpyPeerAsync(target, target_device, source, source_device, bytes, nullptr);
  finish(nullptr);
  return error;
}

cudaError_t cudaMemsetAsync(void* target, int value, std::size_t bytes, cudaStream_t stream) {
  cudaMemoryType type;
  if (bytes == 0) return cudaSuccess;
  if (const cudaError_t error = check_stream(stream)) return report(error);
  if (target == nullptr || locate(target, bytes, &type) || type == cudaMemoryTypeUnregistered)
    return report(cudaErrorInvalidValue);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, target);
  if (!on_host(type) && !peer_access(device_of(stream), attributes.device)) return report(cudaErrorInvalidValue);
  enqueue(stream, [=] {
    const DeviceMemoryAccess access(any_device);
    std::memset(target, value, bytes);
    if (observer != nullptr) observer->memory_is_written(target, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* target, int value, std::size_t bytes) {
  return cudaMemsetAsync(target, value, bytes, nullptr);  // asynchronous for device memory, in CUDA as well
}

}  // namespace cuda_on_cpu
