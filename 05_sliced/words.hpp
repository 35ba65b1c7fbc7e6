/// s sites that lie side by side in a row, as the s bytes of one word; site k is byte k. Every byte is 0 or 1, six of
/// them add up to 6 at most, and so nothing that is done to whole words carries from one site into the next.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/check.hpp"
#include "random/minstd.hpp"
#include "spin_glass/model/geometry.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// The unsigned integer of s bytes, s = 1, 2, 4 or 8.
template <int s>
using UnsignedOf = std::conditional_t<
    s == 1, std::uint8_t,
    std::conditional_t<s == 2, std::uint16_t, std::conditional_t<s == 4, std::uint32_t, std::uint64_t>>>;

/// The streams of the s sites of a word, moved as one.
template <int s>
struct alignas(s < 4 ? 4 * s : 16) Streams {
  Minstd of[s];
};

/// For each direction a word: byte k is what site k sees there.
template <class Word>
struct Six {
  Word in[spin_glass::directions];
};

/// Collects six words from of(direction, element), which gives the word that is stored for an element. Along y and z
/// the neighbours of a word are a word. Those along +x are the word of -y, moved on by one site, and those along -x the
/// word of +y, moved back; one byte comes from the word beside. For s = 1 that byte is all that is left.
template <class Word, class Of>
__device__ Six<Word> look_around(const spin_glass::Neighbours& n, Of of) {
  using namespace spin_glass;
  constexpr int last = 8 * (sizeof(Word) - 1);  // the first bit of the last site
  const Word ahead = (of(plus_x, n.to[minus_y]) >> 8) | static_cast<Word>(of(plus_x, n.to[plus_x]) << last);
  const Word behind = static_cast<Word>(of(minus_x, n.to[plus_y]) << 8) | (of(minus_x, n.to[minus_x]) >> last);
  return {{ahead, behind, of(plus_y, n.to[plus_y]), of(minus_y, n.to[minus_y]), of(plus_z, n.to[plus_z]),
           of(minus_z, n.to[minus_z])}};
}

}  // namespace psflip::PSFLIP_PLATFORM
