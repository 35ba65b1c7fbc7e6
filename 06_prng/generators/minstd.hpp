/// MINSTD for s streams at once, in the form of this stage's generators: one word of state each, and one
/// multiplication.
#pragma once

#include "06_prng/generators/generator.hpp"
#include "random/minstd.hpp"

namespace psflip::prng {

/// words, history, bytes and seed are those of one stream.
struct Minstd : psflip::Minstd {
  template <int s>
  class Streams {
   public:
    PSFLIP_HOST_DEVICE Streams(const States& states, const Position<s>& position)
        : states_(states), id_(position.id), state_(states.load<s>(0, position.id)) {}

    /// 0 .. 2^31 - 3
    PSFLIP_HOST_DEVICE Words<s> draw() {
      Words<s> draws;
      for (int k = 0; k < s; ++k) {
        psflip::Minstd stream{state_.of[k]};
        draws.of[k] = stream.draw();
        state_.of[k] = stream.state;
      }
      return draws;
    }

    PSFLIP_HOST_DEVICE void store() { states_.store(0, id_, state_); }

   private:
    States states_;
    std::int64_t id_;
    Words<s> state_;
  };
};

}  // namespace psflip::prng
