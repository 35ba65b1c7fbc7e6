#include "device.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <string>

#include "settings.hpp"

namespace cuda_on_cpu {
namespace {

thread_local int current = 0;

std::mutex peers_mutex;
std::set<std::pair<int, int>> peers;  // (device, peer whose memory it may touch)

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "CPU";
}

/// The same for all devices of the process but its last byte, which is the device.
cudaUUID_t uuid_of(int device) {
  static const cudaUUID_t first = [] {
    cudaUUID_t random{};
    std::random_device source;
    for (char& byte : random.bytes) byte = static_cast<char>(source());
    return random;
  }();
  cudaUUID_t uuid = first;
  uuid.bytes[15] = static_cast<char>(device);
  return uuid;
}

}  // namespace

int current_device() { return current; }
bool valid_device(int device) { return 0 <= device && device < settings().devices; }

bool peer_access(int device, int peer) {
  const std::lock_guard lock(peers_mutex);
  return device == peer || peers.contains({device, peer});
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = settings().devices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!valid_device(device)) return report(cudaErrorInvalidDevice);
  current = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!valid_device(device)) return report(cudaErrorInvalidDevice);
  static const std::string name = processor_name();
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "%s", name.c_str());
  properties->uuid = uuid_of(device);
  properties->totalGlobalMem = settings().memory_bytes;
  properties->sharedMemPerBlock = shared_memory_per_block;
  properties->sharedMemPerBlockOptin = shared_memory_per_block_optin;
  properties->sharedMemPerMultiprocessor = shared_memory_per_block_optin + 1024;
  properties->warpSize = warp_size;
  properties->maxThreadsPerBlock = max_threads_per_block;
  for (int i = 0; i < 3; ++i) {
    properties->maxThreadsDim[i] = i < 2 ? 1024 : 64;
    properties->maxGridSize[i] = i < 1 ? 2147483647 : 65535;
  }
  properties->major = 9;
  properties->multiProcessorCount = static_cast<int>(settings().workers);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p{};
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      return cudaSuccess;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      return cudaSuccess;
    case cudaDevAttrL2CacheSize:
      *value = p.l2CacheSize;
      return cudaSuccess;
    case cudaDevAttrMaxTexture1DLinearWidth:
      *value = max_texture_elements;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      return cudaSuccess;
    case cudaDevAttrClusterLaunch:
      *value = 1;
      return cudaSuccess;
  }
  return report(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  if (!valid_device(device)) return report(cudaErrorInvalidDevice);
  char whole[16];
  const auto process = static_cast<unsigned>(getpid());  // 22 bits at most
  const int needed = std::snprintf(whole, sizeof whole, "%04x:%02x:%02x.0", process >> 8 & 0xffff, process & 0xff,
                                   static_cast<unsigned>(device));
  if (id == nullptr || length <= needed) return report(cudaErrorInvalidValue);
  std::memcpy(id, whole, static_cast<std::size_t>(needed) + 1);
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!valid_device(device) || !valid_device(peer)) return report(cudaErrorInvalidDevice);
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (flags != 0) return report(cudaErrorInvalidValue);
  if (!valid_device(peer) || peer == current) return report(cudaErrorInvalidDevice);
  const std::lock_guard lock(peers_mutex);
  return peers.insert({current, peer}).second ? cudaSuccess : report(cudaErrorPeerAccessAlreadyEnabled);
}

}  // namespace cuda_on_cpu
