#include "gpu/platforms.hpp"

#include "app/host.hpp"
#include "app/invalid_input.hpp"
#include "app/text.hpp"

namespace psflip {
namespace {

bool answers_to(const DeviceReport& device, const std::string& wish) {
  if (wish == "auto" || wish == device.platform) {
    return true;
  }
  if (device.platform == "reference") {
    return wish == "cpu";
  }
  return device.platform == "gpu" && number_in<int>(wish) == device.index;
}

std::string list(const std::vector<DeviceReport>& all) {
  std::string text;
  for (const DeviceReport& device : all) {
    text += text.empty() ? "there are: " : ", ";
    text += device.platform == "gpu" ? std::to_string(device.index) : "cpu";
    text += " (" + device.name + ")";
  }
  return text.empty() ? "there are none" : text;
}

}  // namespace

std::vector<DeviceReport> reference::devices() { return {{processor_name(), "reference", 0}}; }

DeviceReport choose_device(const std::vector<DeviceReport>& all, const std::string& wish) {
  for (const DeviceReport& device : all) {
    if (answers_to(device, wish)) {
      return device;
    }
  }
  throw InvalidInput("--device " + wish + ": no such device; " + list(all));
}

}  // namespace psflip
