/// The states of many random streams in one array.
#pragma once

#include <cstdint>

#include "gpu/host_device.hpp"

namespace psflip {

/// s words that lie side by side, moved as one.
template <int s>
struct alignas(s < 4 ? 4 * s : 16) Words {
  std::uint32_t of[s];
};

/// Word i of stream `id` is words[i * count + id]: what neighbouring threads need at the same time lies side by side
/// (Lulli, Bernaschi, Parisi, arXiv:1411.0127, section 4).
struct States {
  std::uint32_t* words;
  std::int64_t count;  ///< streams

  /// Word i of the s streams from `id` on. s divides `id` and `count`.
  template <int s>
  PSFLIP_HOST_DEVICE Words<s> load(int i, std::int64_t id) const {
    return *reinterpret_cast<const Words<s>*>(words + i * count + id);
  }
  template <int s>
  PSFLIP_HOST_DEVICE void store(int i, std::int64_t id, const Words<s>& value) const {
    *reinterpret_cast<Words<s>*>(words + i * count + id) = value;
  }
};

}  // namespace psflip
