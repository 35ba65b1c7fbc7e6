/// What a program can run on: its stage's engine, once for every platform that it was built for.
///
/// Each model compiles `stage()` and `platforms()` once a stage, from its platforms.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"

namespace psflip::reference {
/// The host as plain loops use it: one device, named after the processor.
std::vector<DeviceReport> devices();
}  // namespace psflip::reference

namespace psflip {

/// A kind of device. Make is the program's: the function that makes an engine on one, or a struct of such functions.
template <class Make>
struct Platform {
  std::string name;                        ///< "gpu", "cpu" or "reference"
  std::vector<DeviceReport> (*devices)();  ///< what is there now; may be empty
  Make* make;
};

/// A program's platforms, best first, as far as this build has them: a vector of Platform. `make` is a name in
/// psflip::gpu and psflip::cpu, or, if the program is the CPU reference, in psflip::reference.
#if PSFLIP_HAS_GPU && PSFLIP_HAS_CPU
#define PSFLIP_PLATFORMS(make) \
  std::vector { PSFLIP_PLATFORM_OF(gpu, make), PSFLIP_PLATFORM_OF(cpu, make) }
#elif PSFLIP_HAS_GPU
#define PSFLIP_PLATFORMS(make) \
  std::vector { PSFLIP_PLATFORM_OF(gpu, make) }
#elif PSFLIP_HAS_CPU
#define PSFLIP_PLATFORMS(make) \
  std::vector { PSFLIP_PLATFORM_OF(cpu, make) }
#else
#define PSFLIP_PLATFORMS(make) \
  std::vector { PSFLIP_PLATFORM_OF(reference, make) }
#endif
#define PSFLIP_PLATFORM_OF(kind, make) \
  psflip::Platform<decltype(kind::make)> { #kind, kind::devices, &kind::make }

/// A platform and one of its devices.
template <class Make>
struct ChosenDevice {
  const Platform<Make>* platform;
  DeviceReport device;
};

/// Which of `all`, the devices of every platform, best first, answers to the wish. "auto": the first. "cpu", "gpu": the
/// first of that platform (the reference answers to "cpu" too). A number: that GPU. Throws InvalidInput, naming the
/// devices that there are.
DeviceReport choose_device(const std::vector<DeviceReport>& all, const std::string& wish);

/// The same, with the platform that has the device.
template <class Make>
ChosenDevice<Make> choose_device(const std::vector<Platform<Make>>& platforms, const std::string& wish) {
  std::vector<DeviceReport> all;
  for (const Platform<Make>& platform : platforms) {
    for (const DeviceReport& device : platform.devices()) {
      all.push_back(device);
    }
  }
  const DeviceReport device = choose_device(all, wish);
  for (const Platform<Make>& platform : platforms) {
    if (platform.name == device.platform) {
      return {&platform, device};
    }
  }
  return {};  // not reached: the device came from one of them
}

}  // namespace psflip
