/// How one seed becomes the random numbers of every site: by hashing, so that any thread can compute its own.
///
/// The 3D model gives every site of every group of samples a random stream of its own. Where a layout stores the site,
/// its stream goes with it; so no layout, launch shape, word width or number of ranks can change a bit.
#pragma once

#include <cstdint>

#include "gpu/host_device.hpp"

namespace psflip {

/// One step of SplitMix64 from state z: a bijection of the 64-bit words in which every bit of z reaches every bit of
/// the result (Steele, Lea, Flood, OOPSLA 2014; the constants of S. Vigna's splitmix64.c). mix(0) = e220a8397b1dcdaf.
PSFLIP_HOST_DEVICE constexpr std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// The generator SplitMix64 itself, for whatever needs several words from one seed.
class SplitMix64 {
 public:
  PSFLIP_HOST_DEVICE constexpr explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  PSFLIP_HOST_DEVICE constexpr std::uint64_t operator()() {
    const std::uint64_t word = mix(state_);
    state_ += 0x9e3779b97f4a7c15;
    return word;
  }

 private:
  std::uint64_t state_;
};

/// What a hashed word is for. Words for different purposes have nothing to do with each other.
enum class Purpose : std::uint64_t { dynamics, couplings, start, exchange = 8 };

/// The word number (i, j) of a seed and purpose. For one seed, purpose and i, different j give different words.
PSFLIP_HOST_DEVICE constexpr std::uint64_t hash(std::uint64_t seed, Purpose purpose, std::uint64_t i, std::uint64_t j) {
  return mix(mix(mix(mix(seed) + static_cast<std::uint64_t>(purpose)) + i) + j);
}

/// The seed of the stream of a site: samples are grouped, and those of a group share their streams.
PSFLIP_HOST_DEVICE constexpr std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t group, std::uint64_t site) {
  return hash(seed, Purpose::dynamics, group, site);
}

/// A seed, and which of its samples a run has: from `sample` on, the first of `group`. A run numbers its own from 0,
/// and whatever it hashes has the numbers that they have among all.
struct Origin {
  std::uint64_t seed;
  std::int64_t sample, group;
};
PSFLIP_HOST_DEVICE constexpr std::uint64_t stream_seed(const Origin& origin, std::int64_t group, std::int64_t site) {
  return stream_seed(origin.seed, static_cast<std::uint64_t>(origin.group + group), static_cast<std::uint64_t>(site));
}

}  // namespace psflip
