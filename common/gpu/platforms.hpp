/// What a program can run on: its stage's engine, once for every platform that it was built for.
///
/// Each model compiles `stage()` and `platforms()` once a stage, from its platforms.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"

namespace psflip {

/// A kind of device. MakeSimulation is the model's: the function that makes an engine on one.
template <class MakeSimulation>
struct Platform {
  std::string name;                        ///< "gpu", "cpu" or "reference"
  std::vector<DeviceReport> (*devices)();  ///< what is there now; may be empty
  MakeSimulation* make_simulation;
};

/// A platform and one of its devices.
template <class MakeSimulation>
struct Choice {
  const Platform<MakeSimulation>* platform;
  DeviceReport device;
};

/// The host as the plain loops of stage 00 use it: one device, named after the processor.
std::vector<DeviceReport> reference_devices();

/// Which of `all`, the devices of every platform, best first, answers to the wish. "auto": the first. "cpu", "gpu": the
/// first of that platform (the reference answers to "cpu" too). A number: that GPU. Throws InvalidInput, naming the
/// devices that there are.
DeviceReport choose_device(const std::vector<DeviceReport>& all, const std::string& wish);

/// The same, with the platform that has the device.
template <class MakeSimulation>
Choice<MakeSimulation> choose_device(const std::vector<Platform<MakeSimulation>>& platforms, const std::string& wish) {
  std::vector<DeviceReport> all;
  for (const Platform<MakeSimulation>& platform : platforms) {
    for (const DeviceReport& device : platform.devices()) {
      all.push_back(device);
    }
  }
  const DeviceReport device = choose_device(all, wish);
  for (const Platform<MakeSimulation>& platform : platforms) {
    if (platform.name == device.platform) {
      return {&platform, device};
    }
  }
  return {};  // not reached: the device came from one of them
}

}  // namespace psflip
