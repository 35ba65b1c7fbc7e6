/// What this program can run on: its stage's engine, once for every platform it was built for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"
#include "majority/simulation.hpp"

namespace psflip::majority {

/// This program's stage, by its folder: "03_shared_memory".
std::string_view stage();

struct Platform {
  std::string name;                        ///< "gpu", "cpu" or "reference"
  std::vector<DeviceReport> (*devices)();  ///< what is there now; may be empty
  MakeSimulation* make_simulation;
};

/// Best first: the GPU before the CPU. Stage 00 has the platform "reference" alone.
const std::vector<Platform>& platforms();

/// A platform and one of its devices.
struct Choice {
  const Platform* platform;
  DeviceReport device;
};

/// "auto": the first device of the first platform that has one. "cpu", "gpu": that platform's first device (stage 00
/// answers to "cpu" too). A number: that GPU. Throws InvalidInput, naming the devices that there are.
Choice choose_device(const std::string& wish);

}  // namespace psflip::majority
