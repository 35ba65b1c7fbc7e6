/// The generator of G. Parisi and F. Rapuano (Physics Letters B 157, 1985), a wheel of 62 words a stream.
#pragma once

#include "06_prng/generator.hpp"
#include "random/streams.hpp"

namespace psflip::prng {

/// wheel[i] = wheel[i - 24] + wheel[i - 55] modulo 2^32; the number is wheel[i] ^ wheel[i - 61]. It reaches back 61
/// words and writes one, so 62 slots suffice; number n is made in slot n mod 62. The sum is stored, not the number: the
/// poster at GTC 2015 stores the number, which makes another generator.
struct ParisiRapuano {
  static constexpr int words = 62;

  /// Three words in and one out for every number.
  static constexpr double bytes(double draws) { return 16 * draws; }

  /// The 61 words before the first number, oldest first, are high halves of SplitMix64. Slot 0 is written before it is
  /// read.
  PSFLIP_HOST_DEVICE static void seed(const States& states, std::int64_t id, std::uint64_t stream_seed) {
    SplitMix64 random(stream_seed);
    states.store<1>(0, id, {0});
    for (int i = 1; i < words; ++i) states.store<1>(i, id, {static_cast<std::uint32_t>(random() >> 32)});
  }

  template <int s>
  class Streams {
   public:
    PSFLIP_HOST_DEVICE Streams(const States& states, const Position<s>& position)
        : states_(states), id_(position.id), slot_(position.slot) {}

    /// 0 .. 2^32 - 1
    PSFLIP_HOST_DEVICE Words<s> draw() {
      const Words<s> back_24 = states_.load<s>(turn<words>(slot_, -24), id_);
      const Words<s> back_55 = states_.load<s>(turn<words>(slot_, -55), id_);
      const Words<s> back_61 = states_.load<s>(turn<words>(slot_, -61), id_);
      Words<s> sums, draws;
      for (int k = 0; k < s; ++k) {
        sums.of[k] = back_24.of[k] + back_55.of[k];
        draws.of[k] = sums.of[k] ^ back_61.of[k];
      }
      states_.store(slot_, id_, sums);
      slot_ = turn<words>(slot_, 1);
      return draws;
    }

    PSFLIP_HOST_DEVICE void store() {}  // draw() did it

   private:
    States states_;
    std::int64_t id_;
    int slot_;
  };
};

}  // namespace psflip::prng
