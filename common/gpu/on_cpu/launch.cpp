#include "launch.hpp"

#include <map>
#include <mutex>

namespace cuda_on_cpu {
namespace {

std::mutex mutex;
std::map<const void*, std::size_t> raised_limits;  // bytes of dynamic shared memory, by kernel

std::size_t shared_memory_limit(const void* kernel) {
  if (kernel == nullptr) return shared_memory_per_block_optin;
  const std::lock_guard lock(mutex);
  const auto it = raised_limits.find(kernel);
  return it == raised_limits.end() ? shared_memory_per_block : it->second;
}

bool fits(uint3 extent, uint3 largest) {
  return 1 <= extent.x && extent.x <= largest.x && 1 <= extent.y && extent.y <= largest.y && 1 <= extent.z &&
         extent.z <= largest.z;
}

}  // namespace

cudaError_t check_launch(const LaunchConfiguration& c, const void* kernel) {
  if (!fits(c.block, {1024, 1024, 64}) || !fits(c.grid, {2147483647, 65535, 65535}) ||
      c.block.x * c.block.y * c.block.z > max_threads_per_block)
    return cudaErrorInvalidConfiguration;
  if (c.dynamic_shared_bytes > shared_memory_limit(kernel)) return cudaErrorInvalidValue;
  if (!valid_stream(c.stream) || device_of(c.stream) != current_device()) return cudaErrorInvalidResourceHandle;
  return cudaSuccess;
}

cudaError_t set_function_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      static_cast<std::size_t>(value) > shared_memory_per_block_optin)
    return report(cudaErrorInvalidValue);
  const std::lock_guard lock(mutex);
  raised_limits[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

}  // namespace cuda_on_cpu
