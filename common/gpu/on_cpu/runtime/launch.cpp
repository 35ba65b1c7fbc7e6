#include "launch.hpp"

#include <map>
#include <mutex>
#include <set>

#include "kernel/cluster.hpp"
#include "settings.hpp"

namespace cuda_on_cpu {
namespace {

std::mutex mutex;
std::map<const void*, std::size_t> raised_limits;  // bytes of dynamic shared memory, by kernel
std::set<const void*> with_large_clusters;         // kernels that may have clusters that not every device runs

std::size_t shared_memory_limit(const void* kernel) {
  if (kernel == nullptr) return shared_memory_per_block_optin;
  const std::lock_guard lock(mutex);
  const auto it = raised_limits.find(kernel);
  return it == raised_limits.end() ? shared_memory_per_block : it->second;
}

unsigned cluster_limit(const void* kernel) {
  const std::lock_guard lock(mutex);
  return with_large_clusters.contains(kernel) ? max_cluster_blocks : portable_cluster_blocks;
}

std::uint64_t volume(uint3 extent) { return std::uint64_t{extent.x} * extent.y * extent.z; }

bool fits(uint3 extent, uint3 largest) {
  return 1 <= extent.x && extent.x <= largest.x && 1 <= extent.y && extent.y <= largest.y && 1 <= extent.z &&
         extent.z <= largest.z;
}

/// What a block and a cluster need, whatever the grid.
cudaError_t check_block_and_cluster(const LaunchConfiguration& c, const void* kernel) {
  if (!fits(c.block, {1024, 1024, 64}) || volume(c.block) > max_threads_per_block) return cudaErrorInvalidConfiguration;
  if (c.dynamic_shared_bytes > shared_memory_limit(kernel)) return cudaErrorInvalidValue;
  const unsigned most = cluster_limit(kernel);
  if (!fits(c.cluster, {most, most, most}) || volume(c.cluster) > most) return cudaErrorInvalidClusterSize;
  return cudaSuccess;
}

/// How many blocks a cooperative grid can have: as many on every multiprocessor, of which there is one a worker.
std::uint64_t cooperative_blocks(const LaunchConfiguration& c) {
  const std::uint64_t workers = settings().workers;
  return most_cooperative_threads() / volume(c.block) / workers * workers;
}

}  // namespace

cudaError_t check_launch(const LaunchConfiguration& c, const void* kernel) {
  if (!fits(c.grid, {2147483647, 65535, 65535})) return cudaErrorInvalidConfiguration;
  if (const cudaError_t error = check_block_and_cluster(c, kernel)) return error;
  if (c.cooperative) {
    if (volume(c.cluster) > 1) return cudaErrorInvalidConfiguration;
    if (volume(c.grid) > cooperative_blocks(c)) return cudaErrorCooperativeLaunchTooLarge;
  }
  if (c.grid.x % c.cluster.x != 0 || c.grid.y % c.cluster.y != 0 || c.grid.z % c.cluster.z != 0)
    return cudaErrorInvalidClusterSize;
  if (const cudaError_t error = check_stream(c.stream)) return error;
  return device_of(c.stream) == current_device() ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t set_function_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const std::lock_guard lock(mutex);
  if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed && (value == 0 || value == 1)) {
    if (value == 1)
      with_large_clusters.insert(kernel);
    else
      with_large_clusters.erase(kernel);
    return cudaSuccess;
  }
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      static_cast<std::size_t>(value) > shared_memory_per_block_optin)
    return report(cudaErrorInvalidValue);
  raised_limits[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

LaunchConfiguration launch_configuration(const cudaLaunchConfig_t& config) {
  LaunchConfiguration c = launch_configuration(config.gridDim, config.blockDim, config.dynamicSmemBytes, config.stream);
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const auto& cluster = config.attrs[i].val.clusterDim;
    if (config.attrs[i].id == cudaLaunchAttributeCooperative) c.cooperative = config.attrs[i].val.cooperative != 0;
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) c.cluster = {cluster.x, cluster.y, cluster.z};
  }
  return c;
}

cudaError_t max_active_clusters(int* clusters, const void* kernel, const LaunchConfiguration& c) {
  if (const cudaError_t error = check_block_and_cluster(c, kernel)) return report(error);
  *clusters = static_cast<int>(clusters_at_once(volume(c.cluster) * volume(c.block)));
  return cudaSuccess;
}

cudaError_t max_active_blocks(int* blocks, const void* kernel, const LaunchConfiguration& c) {
  if (const cudaError_t error = check_block_and_cluster(c, kernel)) return report(error);
  *blocks = static_cast<int>(cooperative_blocks(c) / settings().workers);
  return cudaSuccess;
}

}  // namespace cuda_on_cpu
