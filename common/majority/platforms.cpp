// Compiled once a stage: the build says which platforms the stage has.
#include "majority/platforms.hpp"

#include <algorithm>
#include <charconv>

#include "app/host.hpp"
#include "app/invalid_input.hpp"

namespace psflip::majority {
namespace {

#if PSFLIP_HAS_REFERENCE
std::vector<DeviceReport> reference_devices() { return {{processor_name(), "reference", 0}}; }
#endif

bool answers_to(const Platform& platform, const DeviceReport& device, const std::string& wish) {
  if (wish == "auto" || wish == platform.name) {
    return true;
  }
  if (platform.name == "reference") {
    return wish == "cpu";
  }
  int number = -1;
  const char* const end = wish.data() + wish.size();
  const auto [stop, error] = std::from_chars(wish.data(), end, number);
  return platform.name == "gpu" && error == std::errc() && stop == end && number == device.index;
}

std::string list_devices() {
  std::string list;
  for (const Platform& platform : platforms()) {
    for (const DeviceReport& device : platform.devices()) {
      list += list.empty() ? "" : ", ";
      list += platform.name == "gpu" ? std::to_string(device.index) : "cpu";
      list += " (" + device.name + ")";
    }
  }
  return list.empty() ? "there are none" : "there are: " + list;
}

}  // namespace

std::string_view stage() { return PSFLIP_STAGE; }

const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = {
#if PSFLIP_HAS_GPU
    {"gpu", gpu::devices, gpu::make_simulation},
#endif
#if PSFLIP_HAS_CPU
    {"cpu", cpu::devices, cpu::make_simulation},
#endif
#if PSFLIP_HAS_REFERENCE
    {"reference", reference_devices, reference::make_simulation},
#endif
  };
  return all;
}

Choice choose_device(const std::string& wish) {
  for (const Platform& platform : platforms()) {
    for (const DeviceReport& device : platform.devices()) {
      if (answers_to(platform, device, wish)) {
        return {&platform, device};
      }
    }
  }
  throw InvalidInput("--device " + wish + ": no such device; " + list_devices());
}

}  // namespace psflip::majority
