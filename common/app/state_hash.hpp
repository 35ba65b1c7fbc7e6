/// The canonical hash of a state, by which people compare results across programs and machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace psflip {

/// FNV-1a with 64 bits over one byte a spin: 1 for up, 0 for down, in the model's canonical order.
class StateHash {
 public:
  void add(bool up) { value_ = (value_ ^ static_cast<std::uint64_t>(up)) * 0x100000001b3; }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// FNV-1a with 64 bits over the bytes of files: changing any one byte changes it.
class Checksum {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* const byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) {
      value_ = (value_ ^ byte[i]) * 0x100000001b3;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// 16 lower-case hexadecimal digits, as the programs print a hash.
std::string hex(std::uint64_t value);

}  // namespace psflip
