/// The generator of G. Parisi and F. Rapuano (Physics Letters B 157, 1985), a wheel of 62 words a stream.
#pragma once

#include "06_prng/generators/generator.hpp"
#include "random/streams.hpp"

namespace psflip::prng {

/// wheel[i] = wheel[i - 24] + wheel[i - 55] modulo 2^32; the number is wheel[i] ^ wheel[i - 61]. It reaches back 61
/// words and writes one, so 62 slots suffice; number n is made in slot n mod 62. The sum is stored, not the number: the
/// poster at GTC 2015 stores the number, which makes another generator.
struct ParisiRapuano {
  static constexpr int words = 62;
  static constexpr int history = 61;

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
      Words<s> draws[1];
      draw_several(draws);
      return draws[0];
    }

    // --- yours: as many numbers, and their sums stored; words, seed and the order of the slots are yours, too
    /// Everything is fetched before anything is put back, so a thread waits once for all of it.
    template <int many>
    PSFLIP_HOST_DEVICE void draw_several(Words<s> (&draws)[many]) {
      static_assert(many <= 24);
      Words<s> back_24[many], back_55[many], back_61[many];
      for (int i = 0; i < many; ++i) {
        back_24[i] = states_.load<s>(turn<words>(slot_, i - 24), id_);
        back_55[i] = states_.load<s>(turn<words>(slot_, i - 55), id_);
        back_61[i] = states_.load<s>(turn<words>(slot_, i - 61), id_);
      }
      for (int i = 0; i < many; ++i) {
        Words<s> sums;
        for (int k = 0; k < s; ++k) {
          sums.of[k] = back_24[i].of[k] + back_55[i].of[k];
          draws[i].of[k] = sums.of[k] ^ back_61[i].of[k];
        }
        states_.store(turn<words>(slot_, i), id_, sums);
      }
      slot_ = turn<words>(slot_, many);
    }
    // --- end

    PSFLIP_HOST_DEVICE void store() {}  // draw() did it

   private:
    States states_;
    std::int64_t id_;
    int slot_;
  };
};

}  // namespace psflip::prng
