/// A well-known mistake, kept to be looked at: Parisi-Rapuano as the poster at GTC 2015 prints it. It stores the
/// number, where the sum is meant. That is a generator too, but another one; statistical tests see nothing wrong with
/// it.
#pragma once

#include "06_prng/generators/generator.hpp"
#include "06_prng/generators/parisi_rapuano.hpp"

namespace psflip::prng {

struct PosterParisiRapuano : ParisiRapuano {
  template <int s>
  class Streams {
   public:
    PSFLIP_HOST_DEVICE Streams(const States& states, const Position<s>& position)
        : states_(states), id_(position.id), slot_(position.slot) {}

    PSFLIP_HOST_DEVICE Words<s> draw() {
      const Words<s> back_24 = states_.load<s>(turn<words>(slot_, -24), id_);
      const Words<s> back_55 = states_.load<s>(turn<words>(slot_, -55), id_);
      const Words<s> back_61 = states_.load<s>(turn<words>(slot_, -61), id_);
      Words<s> draws;
      for (int k = 0; k < s; ++k) draws.of[k] = (back_24.of[k] + back_55.of[k]) ^ back_61.of[k];
      states_.store(slot_, id_, draws);  // the mistake
      slot_ = turn<words>(slot_, 1);
      return draws;
    }

    PSFLIP_HOST_DEVICE void store() {}

   private:
    States states_;
    std::int64_t id_;
    int slot_;
  };
};

}  // namespace psflip::prng
