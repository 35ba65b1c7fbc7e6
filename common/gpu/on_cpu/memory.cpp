#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "crash.hpp"
#include "sanitizers.hpp"
#include "settings.hpp"

namespace cuda_on_cpu {
namespace {

constexpr std::size_t alignment = 256;  // what cudaMalloc promises
constexpr int rubbish = 0xA5;
constexpr int any_device = -1;
#ifdef CUDA_ON_CPU_ASAN
constexpr bool heap_has_red_zones = true;
#else
constexpr bool heap_has_red_zones = false;
#endif

struct Allocation {
  std::size_t bytes = 0;
  cudaMemoryType type = cudaMemoryTypeDevice;
  int device = 0;         ///< for host memory: that which was current
  void* pages = nullptr;  ///< null: from the heap
  std::size_t page_bytes = 0;

  /// What it takes of the device's memory.
  std::size_t device_bytes() const { return type == cudaMemoryTypeHost ? 0 : bytes; }
  void protect(int protection) const {
    if (type == cudaMemoryTypeDevice && pages != nullptr) mprotect(pages, page_bytes, protection);
  }
};

/// Everything allocated through the runtime, by address.
struct Registry {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> allocations;
  std::vector<std::size_t> used = std::vector<std::size_t>(static_cast<std::size_t>(settings().devices));

  Registry() { explain_crashes(); }
  // never destroyed: other static objects may free device memory later
  static Registry& instance() {
    static Registry& registry = *new Registry;
    return registry;
  }

  /// The allocation that holds the address, or null.
  const Allocation* find(const void* address, std::size_t bytes) const {
    const auto a = reinterpret_cast<std::uintptr_t>(address);
    auto it = allocations.upper_bound(a);
    if (it == allocations.begin()) return nullptr;
    --it;
    const std::size_t offset = a - it->first;
    return offset <= it->second.bytes && bytes <= it->second.bytes - offset ? &it->second : nullptr;
  }
};

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Pages that end where the allocation ends (but for its alignment), and one more that nobody may touch.
void* allocate_pages(Allocation& allocation, int protection) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  allocation.page_bytes = round_up(allocation.bytes, page);
  void* pages =
      mmap(nullptr, allocation.page_bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  allocation.pages = pages;
  mprotect(pages, allocation.page_bytes, protection);
  return static_cast<std::byte*>(pages) + (allocation.page_bytes - round_up(allocation.bytes, alignment));
}

cudaError_t allocate(void** pointer, std::size_t bytes, cudaMemoryType type) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  Allocation allocation{.bytes = bytes, .type = type, .device = current_device()};
  std::size_t& used = registry.used[static_cast<std::size_t>(allocation.device)];
  if (allocation.device_bytes() > settings().memory_bytes - used) return report(cudaErrorMemoryAllocation);

  const bool from_heap = heap_has_red_zones && !settings().guard;
  void* memory = from_heap ? std::aligned_alloc(alignment, round_up(bytes, alignment))
                           : allocate_pages(allocation, PROT_READ | PROT_WRITE);
  if (memory == nullptr) return report(cudaErrorMemoryAllocation);
#ifdef CUDA_ON_CPU_ASAN
  if (from_heap) ASAN_POISON_MEMORY_REGION(static_cast<std::byte*>(memory) + bytes, round_up(bytes, alignment) - bytes);
#endif
  if (settings().schedule != Schedule::forward) std::memset(memory, rubbish, bytes);
  if (settings().guard) allocation.protect(PROT_NONE);
  used += allocation.device_bytes();
  registry.allocations.emplace(reinterpret_cast<std::uintptr_t>(memory), allocation);
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
  if (it == registry.allocations.end() || (it->second.type == cudaMemoryTypeHost) != host)
    return report(cudaErrorInvalidValue);
  const Allocation allocation = it->second;
  registry.allocations.erase(it);
  registry.used[static_cast<std::size_t>(allocation.device)] -= allocation.device_bytes();
  if (allocation.pages != nullptr) {
    munmap(allocation.pages, allocation.page_bytes + static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  } else {
#ifdef CUDA_ON_CPU_ASAN
    ASAN_UNPOISON_MEMORY_REGION(pointer, round_up(allocation.bytes, alignment));
#endif
    std::free(pointer);
  }
  return cudaSuccess;
}

/// The type of memory at `address`, or an error if an allocation ends before the copy does.
cudaError_t locate(const void* address, std::size_t bytes, cudaMemoryType* type) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  const Allocation* begin = registry.find(address, 1);
  *type = begin == nullptr ? cudaMemoryTypeUnregistered : begin->type;
  return begin == nullptr || registry.find(address, bytes) != nullptr ? cudaSuccess : cudaErrorInvalidValue;
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

cudaError_t start_copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (const cudaError_t error = check_stream(stream)) return error;
  cudaMemoryType to, from;
  if (target == nullptr || source == nullptr || locate(target, bytes, &to) || locate(source, bytes, &from) ||
      !direction_fits(kind, to, from))
    return cudaErrorInvalidValue;
  const auto copy = [=](const void* bytes_from) {
    const DeviceMemoryAccess access(any_device);
    std::memmove(target, bytes_from, bytes);
  };
  if (capturing(stream)) {
    enqueue(stream, [copy, source] { copy(source); });
    return cudaSuccess;
  }
  if (from == cudaMemoryTypeUnregistered && settings().lazy_streams) {
    // from ordinary host memory CUDA returns once the source is safe in a buffer of its own
    const auto* begin = static_cast<const std::byte*>(source);
    enqueue(stream, [copy, staged = std::vector<std::byte>(begin, begin + bytes)] { copy(staged.data()); });
  } else {
    enqueue(stream, [copy, source] { copy(source); });
  }
  if (to == cudaMemoryTypeUnregistered) finish(stream);  // and to ordinary host memory once the copy is there
  return cudaSuccess;
}

}  // namespace

DeviceMemoryAccess::DeviceMemoryAccess(int device) : device_(device) {
  if (!settings().guard) return;
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  for (const auto& [address, allocation] : registry.allocations)
    if (device == any_device || peer_access(device, allocation.device)) allocation.protect(PROT_READ | PROT_WRITE);
}

DeviceMemoryAccess::~DeviceMemoryAccess() {
  if (!settings().guard) return;
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  for (const auto& [address, allocation] : registry.allocations) allocation.protect(PROT_NONE);
}

std::optional<std::size_t> offset_in_array(const void* address) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  const auto it = registry.find(address, 1);
  if (it == nullptr || !on_device(it->type)) return std::nullopt;
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  return a - std::prev(registry.allocations.upper_bound(a))->first;
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
  const Allocation* allocation = registry.find(pointer, 1);
  void* address = const_cast<void*>(pointer);
  if (allocation == nullptr) {
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
  } else {
    const bool host = on_host(allocation->type);
    *attributes = {allocation->type, allocation->device, address, host ? address : nullptr};
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return report(start_copy(target, source, bytes, kind, stream));
}

cudaError_t cudaMemcpy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = start_copy(target, source, bytes, kind, nullptr);
  finish(nullptr);
  return report(error);
}

cudaError_t cudaMemcpy2D(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch,
                         std::size_t width_bytes, std::size_t height, cudaMemcpyKind kind) {
  if (width_bytes > target_pitch || width_bytes > source_pitch) return report(cudaErrorInvalidValue);
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t error = cudaMemcpy(static_cast<std::byte*>(target) + row * target_pitch,
                                         static_cast<const std::byte*>(source) + row * source_pitch, width_bytes, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
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
  });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* target, int value, std::size_t bytes) {
  return cudaMemsetAsync(target, value, bytes, nullptr);  // asynchronous for device memory, in CUDA as well
}

}  // namespace cuda_on_cpu
