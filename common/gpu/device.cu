#include "gpu/device.hpp"

#include "gpu/device_buffer.hpp"
#include "gpu/timer.hpp"

#define PSFLIP_STRING_(name) #name
#define PSFLIP_STRING(name) PSFLIP_STRING_(name)

namespace psflip::PSFLIP_PLATFORM {

std::vector<DeviceReport> devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {  // no driver, or no device
    cudaGetLastError();
    return {};
  }
  std::vector<DeviceReport> reports;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    CHECK_CUDA(cudaGetDeviceProperties(&properties, i));
    reports.push_back({properties.name, PSFLIP_STRING(PSFLIP_PLATFORM), i});
  }
  return reports;
}

std::size_t free_memory(int device) {
  std::size_t free = 0, total = 0;
  CHECK_CUDA(cudaSetDevice(device));
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  return free;
}

double copy_bandwidth(int device, std::size_t bytes, int repetitions) {
  CHECK_CUDA(cudaSetDevice(device));
  DeviceBuffer<unsigned char> source(bytes), target(bytes);
  CHECK_CUDA(cudaMemset(source.data(), 1, bytes));
  return 2 * static_cast<double>(bytes) / median_seconds(repetitions, [&] {
           CHECK_CUDA(cudaMemcpyAsync(target.data(), source.data(), bytes, cudaMemcpyDeviceToDevice));
         });
}

}  // namespace psflip::PSFLIP_PLATFORM
