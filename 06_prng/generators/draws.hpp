/// From a thread's place in a layout to the streams of its sites.
#pragma once

#include <cstdint>

#include "06_prng/generators/generator.hpp"
#include "gpu/check.hpp"
#include "random/streams.hpp"
#include "spin_glass/model/geometry.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// The streams that all threads use, and where they stand.
struct StreamTable {
  States states;
  Origin origin;
  std::int64_t samples_per_stream;
  std::int64_t n;  ///< number of the next draw
  int slot;        ///< n mod the generator's words
};

/// The slot of draw number n.
template <class Prng>
PSFLIP_HOST_DEVICE int slot_of(std::int64_t n) {
  if constexpr (Prng::words > 1) return static_cast<int>(n % Prng::words);
  return 0;
}

/// The streams of a word of sites: those of the group to which the sample belongs.
template <int s, class Layout>
__device__ prng::Position<s> position_of(const StreamTable& draws, const Layout& layout, int size,
                                         spin_glass::Colour colour, spin_glass::Place place, std::int64_t sample,
                                         std::int64_t id) {
  const std::int64_t group = draws.origin.group + sample / draws.samples_per_stream;
  prng::Position<s> position{id, draws.n, draws.slot, draws.origin.seed, static_cast<std::uint32_t>(group), {}};
  for (int k = 0; k < s; ++k)
    position.site[k] =
        static_cast<std::uint32_t>(spin_glass::number(layout.site(colour, {place.x * s + k, place.y, place.z}), size));
  return position;
}

}  // namespace psflip::PSFLIP_PLATFORM
