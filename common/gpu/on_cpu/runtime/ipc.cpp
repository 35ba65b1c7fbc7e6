#include "ipc.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "device.hpp"
#include "registry.hpp"
#include "streams.hpp"

namespace cuda_on_cpu {
namespace {

/// What a handle holds.
struct Content {
  char kind[8];  ///< `this_kind`
  SharedFile file;
  std::size_t page_bytes, offset, bytes;
};
static_assert(sizeof(Content) <= sizeof(cudaIpcMemHandle_t));
constexpr char this_kind[8] = {'o', 'n', '_', 'c', 'p', 'u', ' ', '1'};

class File {
 public:
  explicit File(int number) : number_(number) {}
  ~File() {
    if (number_ >= 0) close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

bool is_mapping(const void* address) { return address != MAP_FAILED; }

/// Puts pages of a file in the place of an allocation's own, with the same content.
cudaError_t move_to_file(Allocation& a) {
  File file(memfd_create("cuda_on_cpu", MFD_CLOEXEC));
  struct stat status {};
  if (file.number() < 0 || ftruncate(file.number(), static_cast<off_t>(a.page_bytes)) != 0 ||
      fstat(file.number(), &status) != 0)
    return cudaErrorMemoryAllocation;
  void* copy = mmap(nullptr, a.page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (!is_mapping(copy)) return cudaErrorMemoryAllocation;
  {
    const DeviceMemoryAccess access(any_device);
    std::memcpy(static_cast<std::byte*>(copy) + a.offset, a.pages + a.offset, a.bytes);
  }
  munmap(copy, a.page_bytes);
  const std::lock_guard lock(Registry::instance().mutex);
  if (!is_mapping(
          mmap(a.pages, a.page_bytes, Registry::instance().protection(a), MAP_SHARED | MAP_FIXED, file.number(), 0)))
    return cudaErrorMapBufferObjectFailed;
  poison_rest_of_pages(a);
  a.file = {getpid(), file.release(), status.st_ino};
  return cudaSuccess;
}

/// Maps the pages of another process into `a`.
cudaError_t map(const Content& content, Allocation& a) {
  const std::string path =
      "/proc/" + std::to_string(content.file.process) + "/fd/" + std::to_string(content.file.number);
  const File file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) return cudaErrorMapBufferObjectFailed;
  if (status.st_ino != content.file.identity || static_cast<std::size_t>(status.st_size) != content.page_bytes)
    return cudaErrorMapBufferObjectFailed;  // freed, or not the memory that it was
  a.pages = reserve_pages(a.page_bytes);
  if (a.pages == nullptr) return cudaErrorMemoryAllocation;
  if (!is_mapping(
          mmap(a.pages, a.page_bytes, Registry::instance().protection(a), MAP_SHARED | MAP_FIXED, file.number(), 0))) {
    give_back_pages(a);
    return cudaErrorMapBufferObjectFailed;
  }
  poison_rest_of_pages(a);
  return cudaSuccess;
}

bool makes_sense(const Content& content) {
  return std::memcmp(content.kind, this_kind, sizeof this_kind) == 0 && content.bytes > 0 &&
         content.offset <= content.page_bytes && content.bytes <= content.page_bytes - content.offset;
}

}  // namespace

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  Registry& registry = Registry::instance();
  const auto find = [&]() -> Allocation* {
    const std::lock_guard lock(registry.mutex);
    const auto it = registry.find(pointer, 1);
    return it == registry.allocations.end() || !it->second.in_device_memory() || it->second.of_other_process
               ? nullptr
               : &it->second;
  };
  cudaError_t error = cudaErrorInvalidValue;
  between_work([&] {
    Allocation* allocation = handle == nullptr ? nullptr : find();
    if (allocation == nullptr) return;
    error = allocation->file.number >= 0 ? cudaSuccess : move_to_file(*allocation);
    if (error != cudaSuccess) return;
    Content content{{}, allocation->file, allocation->page_bytes, allocation->offset, allocation->bytes};
    std::memcpy(content.kind, this_kind, sizeof this_kind);
    *handle = {};
    std::memcpy(handle->reserved, &content, sizeof content);
  });
  return report(error);
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  if (pointer == nullptr || flags != cudaIpcMemLazyEnablePeerAccess) return report(cudaErrorInvalidValue);
  Content content;
  std::memcpy(&content, handle.reserved, sizeof content);
  if (!makes_sense(content)) return report(cudaErrorInvalidResourceHandle);
  if (content.file.process == getpid()) return report(cudaErrorDeviceUninitialized);  // CUDA's answer

  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  for (auto& [address, allocation] : registry.allocations) {
    if (!allocation.of_other_process || allocation.file != content.file) continue;
    ++allocation.openings;
    *pointer = reinterpret_cast<void*>(address);
    return cudaSuccess;
  }
  Allocation allocation;
  allocation.bytes = content.bytes;
  allocation.device = current_device();
  allocation.page_bytes = content.page_bytes;
  allocation.offset = content.offset;
  allocation.file = content.file;
  allocation.of_other_process = true;
  allocation.openings = 1;
  if (const cudaError_t error = map(content, allocation)) return report(error);
  *pointer = allocation.pages + allocation.offset;
  registry.allocations.emplace(reinterpret_cast<std::uintptr_t>(*pointer), allocation);
  return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  Registry& registry = Registry::instance();
  const auto find = [&] {
    const auto it = registry.allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
    return it == registry.allocations.end() || !it->second.of_other_process ? registry.allocations.end() : it;
  };
  int device = 0;
  {
    const std::lock_guard lock(registry.mutex);
    const auto it = find();
    if (it == registry.allocations.end()) return report(cudaErrorInvalidValue);
    device = it->second.device;
  }
  finish_device(device);  // without the lock: that runs kernels
  const std::lock_guard lock(registry.mutex);
  const auto it = find();
  if (it == registry.allocations.end()) return report(cudaErrorInvalidValue);
  if (--it->second.openings > 0) return cudaSuccess;
  give_back_pages(it->second);
  registry.allocations.erase(it);
  return cudaSuccess;
}

}  // namespace cuda_on_cpu
