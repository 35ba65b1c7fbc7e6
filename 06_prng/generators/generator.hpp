/// What the generators of this stage have in common. One file each: minstd.hpp, parisi_rapuano.hpp, mt19937.hpp,
/// philox.hpp, philox_planes.hpp.
///
/// A generator G has
///   G::words                        words of state a stream, 0 for none
///   G::history                      of them, how many the numbers to come depend on; word n of the sequence lies in
///                                   slot n mod G::words. A generator whose state cannot be saved does not say it
///   G::seed(states, id, seed)       puts stream `id` at its beginning; `seed` is its stream_seed (random/streams.hpp)
///   G::bytes(draws)                 bytes of state that so many draws in a row move between memory and the device
///   G::Streams<s>                   s neighbouring streams in the hands of one thread:
///     Streams(states, position)       fetches what the next draw needs
///     draw()                          the next number of each, s words
///     draw_several(draws)             fills an array of Words<s> with the next numbers of each: the same numbers,
///                                     sooner. Optional, not for any length, and only if the length divides n
///     store()                         puts back what draw() has not put back itself
#pragma once

#include <cstdint>

#include "gpu/host_device.hpp"
#include "random/states.hpp"

namespace psflip::prng {

/// Which s streams a thread serves, and which number comes next.
template <int s>
struct Position {
  std::int64_t id;  ///< of the first stream in the states
  std::int64_t n;   ///< number of the next draw
  int slot;         ///< n mod G::words, so that no thread has to divide
  // The names of the streams, for a generator that has nothing else.
  std::uint64_t seed;
  std::uint32_t group;
  std::uint32_t site[s];
};

/// slot + lag in a wheel of `words`, for -words <= lag < words: a comparison in place of the modulus.
template <int words>
PSFLIP_HOST_DEVICE constexpr int turn(int slot, int lag) {
  const int sum = slot + lag;
  return sum < 0 ? sum + words : sum < words ? sum : sum - words;
}

}  // namespace psflip::prng
