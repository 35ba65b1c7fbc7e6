/// The canonical hash of a state, by which people compare results across programs and machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace psflip {

/// FNV-1a with 64 bits over bytes: changing any one byte changes it.
class Checksum {
 public:
  static constexpr std::uint64_t factor = 0x100000001b3;

  void add(unsigned char byte) { value_ = (value_ ^ byte) * factor; }
  void add(const void* data, std::size_t bytes) {
    const auto* const byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) add(byte[i]);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// The same over one byte a spin, or a coupling: 1 for up, 0 for down, in the model's canonical order.
class StateHash {
 public:
  void add(bool up) { sum_.add(static_cast<unsigned char>(up)); }
  void add(std::span<const std::int8_t> spins) {
    for (const std::int8_t spin : spins) add(spin > 0);
  }
  std::uint64_t value() const { return sum_.value(); }

  /// The hash of what has one and then of what has the other, so many spins: FNV-1a of bytes that are 0 or 1 is a map
  /// h -> a h + b or a h - b, by the lowest bit of h.
  static std::uint64_t joined(std::uint64_t one, std::uint64_t other, std::int64_t spins_of_other);

 private:
  Checksum sum_;
};

/// 16 lower-case hexadecimal digits, as the programs print a hash.
std::string hex(std::uint64_t value);

}  // namespace psflip
