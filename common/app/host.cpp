#include "app/host.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <fstream>

namespace psflip {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      return line.substr(line.find(':') + 2);
    }
  }
  utsname system;
  return uname(&system) == 0 ? system.machine : "unknown processor";
}

std::int64_t host_memory_bytes() {
  std::int64_t bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  std::ifstream group_limit("/sys/fs/cgroup/memory.max");
  // Without a limit the file says "max", which is no number.
  if (std::int64_t limit; group_limit >> limit) {
    bytes = std::min(bytes, limit);
  }
  return bytes;
}

std::string readable_bytes(double bytes) {
  constexpr std::array units{"MB", "GB", "TB", "PB", "EB"};
  double value = bytes * 1e-6;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) {
    value *= 1e-3;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", value, units[unit]);
  return text;
}

}  // namespace psflip
