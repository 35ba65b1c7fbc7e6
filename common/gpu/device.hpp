/// The devices of a platform, as host code without CUDA headers sees them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace psflip {

struct DeviceReport {
  std::string name;                         ///< "NVIDIA H200", or the host's processor
  std::string platform;                     ///< "gpu", "cpu" or "reference"
  int index = 0;                            ///< number within the platform
  int multiprocessors = 0;                  ///< streaming multiprocessors, or worker threads
  std::size_t memory_bytes = 0;             ///< in all
  std::size_t free_memory_bytes = 0;        ///< now
  std::size_t shared_memory_per_block = 0;  ///< bytes, with opt-in
  std::size_t l2_bytes = 0;                 ///< 0 where it is not known
};

}  // namespace psflip

namespace psflip::cpu {
std::vector<DeviceReport> devices();
/// Median over `repetitions` of the speed at which the device copies `bytes` within its memory: bytes read plus bytes
/// written, a second. Throws std::runtime_error if the device fails, out of memory included.
double copy_bandwidth(int device, std::size_t bytes, int repetitions);
}  // namespace psflip::cpu

namespace psflip::gpu {
/// Empty where there is no GPU or no driver.
std::vector<DeviceReport> devices();
double copy_bandwidth(int device, std::size_t bytes, int repetitions);
}  // namespace psflip::gpu
