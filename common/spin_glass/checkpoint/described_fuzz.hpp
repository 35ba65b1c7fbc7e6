/// Described files for fuzz targets: an input is a description, a zero byte, and what follows it in the file, up to the
/// checksum; the rest is added here.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "app/state_hash.hpp"

namespace psflip::fuzz {

inline std::string in_memory(std::uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

inline std::string described(std::string_view magic, std::string_view input) {
  const std::string_view description = input.substr(0, input.find('\0'));
  input.remove_prefix(std::min(description.size() + 1, input.size()));
  std::string bytes = std::string(magic) + in_memory(1) + in_memory(description.size());  // the version, and 0
  bytes.append(description).append(input);
  Checksum checksum;
  checksum.add(bytes.data(), bytes.size());
  return bytes + in_memory(checksum.value());
}

}  // namespace psflip::fuzz
