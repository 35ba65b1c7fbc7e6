/// The devices that the CPU path shows: PSFLIP_CPU_DEVICES of them, on the same host threads, each with its own memory.
#pragma once

#include <cstddef>

#include "errors.hpp"

namespace cuda_on_cpu {

struct cudaUUID_t {
  char bytes[16];
};

/// The members of CUDA's structure that mean something here.
struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;  ///< another one in every process, since each has devices of its own
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  std::size_t sharedMemPerBlockOptin;
  std::size_t sharedMemPerMultiprocessor;
  int warpSize;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
  int major, minor;
  int multiProcessorCount;
  int l2CacheSize;
};

enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxTexture1DLinearWidth = 69,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrClusterLaunch = 120,
};

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
};

inline constexpr int warp_size = 32;
inline constexpr int max_threads_per_block = 1024;
inline constexpr int max_texture_elements = 1 << 28;                      ///< of a texture over linear memory
inline constexpr std::size_t shared_memory_per_block = 48 * 1024;         ///< without opt-in
inline constexpr std::size_t shared_memory_per_block_optin = 227 * 1024;  ///< as on compute capability 9.0

cudaError_t cudaGetDeviceCount(int* count);
/// Each host thread has its own current device; at first it is 0.
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
/// "domain:bus:device.function" in hexadecimal digits, up to `length` characters with the final 0. Processes of one
/// host have different ones.
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);

int current_device();
bool valid_device(int device);
/// Whether kernels of `device` may touch the memory of `peer`.
bool peer_access(int device, int peer);

}  // namespace cuda_on_cpu
