/// The Mersenne twister MT19937 of M. Matsumoto and T. Nishimura (ACM TOMACS 8, 1998): 624 words a stream.
#pragma once

#include "06_prng/generators/generator.hpp"

namespace psflip::prng {

/// std::mt19937, one word a step. The usual code twists all 624 words at once and then hands them out. But number n
/// only needs the words n, n + 1 and n + 397 (mod 624), and makes the new word n of them: the same numbers, no long
/// pause, and every thread of a warp is at the same word.
struct Mt19937 {
  static constexpr int words = 624;
  static constexpr int history = 624;

  /// Words n, n + 1 and n + 397 in, word n out; word n + 1 is kept for the next number.
  static constexpr double bytes(double draws) { return 4 + 12 * draws; }

  /// std::mt19937(the seed's low 32 bits)
  PSFLIP_HOST_DEVICE static void seed(const States& states, std::int64_t id, std::uint64_t stream_seed) {
    auto word = static_cast<std::uint32_t>(stream_seed);
    states.store<1>(0, id, {word});
    for (int i = 1; i < words; ++i) {
      word = 1812433253 * (word ^ word >> 30) + i;
      states.store<1>(i, id, {word});
    }
  }

  template <int s>
  class Streams {
   public:
    PSFLIP_HOST_DEVICE Streams(const States& states, const Position<s>& position)
        : states_(states), id_(position.id), slot_(position.slot), now_(states.load<s>(position.slot, position.id)) {}

    /// 0 .. 2^32 - 1
    PSFLIP_HOST_DEVICE Words<s> draw() {
      Words<s> draws[1];
      draw_several(draws);
      return draws[0];
    }

    /// Everything is fetched before anything is put back, so a thread waits once for all of it. The compiler cannot do
    /// that by itself: it has to think that a word is fetched which was put back just before.
    template <int many>
    PSFLIP_HOST_DEVICE void draw_several(Words<s> (&draws)[many]) {
      static_assert(many <= words - 397);
      Words<s> next[many], far[many];
      for (int i = 0; i < many; ++i) {
        next[i] = states_.load<s>(turn<words>(slot_, 1 + i), id_);
        far[i] = states_.load<s>(turn<words>(slot_, 397 + i), id_);
      }
      for (int i = 0; i < many; ++i) {
        Words<s> twisted;
        for (int k = 0; k < s; ++k) {
          const std::uint32_t joined = (now_.of[k] & 0x80000000) | (next[i].of[k] & 0x7fffffff);
          twisted.of[k] = far[i].of[k] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0df : 0);
          draws[i].of[k] = temper(twisted.of[k]);
        }
        states_.store(turn<words>(slot_, i), id_, twisted);
        now_ = next[i];
      }
      slot_ = turn<words>(slot_, many);
    }

    PSFLIP_HOST_DEVICE void store() {}  // draw() did it

   private:
    PSFLIP_HOST_DEVICE static std::uint32_t temper(std::uint32_t y) {
      y ^= y >> 11;
      y ^= y << 7 & 0x9d2c5680;
      y ^= y << 15 & 0xefc60000;
      return y ^ y >> 18;
    }

    States states_;
    std::int64_t id_;
    int slot_;
    Words<s> now_;  ///< the word in slot_, not yet twisted
  };
};

}  // namespace psflip::prng
