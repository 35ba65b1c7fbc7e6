/// XORWOW, Marsaglia's generator (J. Stat. Softw. 8(14), 2003), seeded as cuRAND seeds it: the same words as
/// curand_init(seed, 0, 0) and curand() of the CUDA toolkit, for hosts and devices.
///
/// The seed is not mixed well: its two halves t_0 and t_1 are only multiplied, and each word of the state sees one of
/// them. With seeds of 32 bits t_1 never changes, a stream's first four words are simple functions of t_0 alone, and
/// two numbers made of them depend on each other. Hashed seeds of 64 bits do not have this fault.
#pragma once

#include <cstdint>

#include "gpu/host_device.hpp"
#include "random/states.hpp"

namespace psflip::linear {

class Xorwow {
 public:
  static constexpr int words = 6;  ///< of a state

  /// What curand_init(seed, 0, 0) makes.
  PSFLIP_HOST_DEVICE explicit Xorwow(std::uint64_t seed) {
    const std::uint32_t t_0 = 1099087573U * (static_cast<std::uint32_t>(seed) ^ 0xaad26b49);
    const std::uint32_t t_1 = 2591861531U * (static_cast<std::uint32_t>(seed >> 32) ^ 0xf7dcefdd);
    v_[0] = 123456789 + t_0;
    v_[1] = 362436069 ^ t_0;
    v_[2] = 521288629 + t_1;
    v_[3] = 88675123 ^ t_1;
    v_[4] = 5783321 + t_0;
    d_ = 6615241 + t_1 + t_0;
  }

  /// Fetches the state of stream `id`.
  PSFLIP_HOST_DEVICE Xorwow(const States& states, std::int64_t id) {
    for (int i = 0; i < 5; ++i) v_[i] = states.load<1>(i, id).of[0];
    d_ = states.load<1>(5, id).of[0];
  }

  /// 0 .. 2^32 - 1
  PSFLIP_HOST_DEVICE std::uint32_t next() {
    const std::uint32_t t = v_[0] ^ v_[0] >> 2;
    for (int i = 0; i < 4; ++i) v_[i] = v_[i + 1];
    v_[4] = (v_[4] ^ v_[4] << 4) ^ (t ^ t << 1);
    d_ += 362437;
    return v_[4] + d_;
  }

  PSFLIP_HOST_DEVICE void store(const States& states, std::int64_t id) const {
    for (int i = 0; i < 5; ++i) states.store<1>(i, id, {v_[i]});
    states.store<1>(5, id, {d_});
  }

 private:
  std::uint32_t v_[5], d_;
};

}  // namespace psflip::linear
