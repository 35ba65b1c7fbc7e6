/// The devices of a platform, as host code without CUDA headers sees them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace psflip {

struct DeviceReport {
  std::string name;      ///< "NVIDIA H200", or the host's processor
  std::string platform;  ///< "gpu", "cpu" or "reference"
  int index = 0;         ///< number within the platform
};

}  // namespace psflip

namespace psflip::cpu {
std::vector<DeviceReport> devices();
/// Bytes of the device's memory that nobody has taken.
std::size_t free_memory(int device);
/// Median over `repetitions` of the speed at which the device copies `bytes` within its memory: bytes read plus bytes
/// written, a second. Throws std::runtime_error if the device fails, out of memory included.
double copy_bandwidth(int device, std::size_t bytes, int repetitions);
}  // namespace psflip::cpu

namespace psflip::gpu {
/// Empty where there is no GPU or no driver.
std::vector<DeviceReport> devices();
std::size_t free_memory(int device);
double copy_bandwidth(int device, std::size_t bytes, int repetitions);
}  // namespace psflip::gpu
