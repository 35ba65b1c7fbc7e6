// The sliced layout is the lattice (spin_glass/test/layout_test.hpp says what that means), and words of several sites
// see what their sites see.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "05_sliced/sliced.hpp"
#include "05_sliced/words.hpp"
#include "spin_glass/test/layout_test.hpp"

namespace psflip::spin_glass {
namespace {

TEST(Sliced, IsTheLatticeForEveryEvenSize) {
  for (int size = 4; size <= 20; size += 2) {
    expect_lattice(Sliced{size, size}, size);
  }
}

TEST(Sliced, HasPlanesOfOneColour) {
  for (int size = 4; size <= 20; size += 2) {
    for (const Colour colour : {red, blue}) {
      for (int i = 0; i < size * size * size / 2; ++i) {
        const Sliced layout{size, size};
        const Place place = layout.place(i);
        const Site site = layout.site(colour, place);
        ASSERT_EQ(place.x, site.x);
        ASSERT_EQ(place.y, (site.y - site.x + size) % size);
        ASSERT_EQ(2 * place.z + colour, (site.x - site.y + site.z + size) % size);
      }
    }
  }
}

// The paper's formulas, in its names: arXiv:1411.0127.
TEST(Sliced, HasThePublishedNeighbours) {
  for (int L = 4; L <= 20; L += 2) {
    const int A = L * L, hL = L / 2;
    const Sliced layout{L, L};
    for (int i = 0; i < A * hL; ++i) {
      const int x = i % L, y = i / L % L, z = i / A;
      {
        const int spz = i, smz = i + ((z - 1 + hL) % hL - z) * A;
        const int spy = smz + ((y + 1) % L - y) * L, smy = i + ((y - 1 + L) % L - y) * L;
        const int smx = spy - x + (x - 1 + L) % L, spx = smy - x + (x + 1) % L;
        const int published[] = {spx, smx, spy, smy, spz, smz};
        for (int d = 0; d < directions; ++d) {
          ASSERT_EQ(layout.neighbours(red, layout.place(i)).to[d], published[d])
              << "L = " << L << ", red element " << i << ", direction " << d;
        }
      }
      {
        const int smz = i, spz = i + ((z + 1) % hL - z) * A;
        const int spy = smz + ((y + 1) % L - y) * L, smy = spz + ((y - 1 + L) % L - y) * L;
        const int spx = smy - x + (x + 1) % L, smx = spy - x + (x - 1 + L) % L;
        const int published[] = {spx, smx, spy, smy, spz, smz};
        for (int d = 0; d < directions; ++d) {
          ASSERT_EQ(layout.neighbours(blue, layout.place(i)).to[d], published[d])
              << "L = " << L << ", blue element " << i << ", direction " << d;
        }
      }
    }
  }
}

/// Words whose byte k is byte number `part` of the element number of site k.
template <class Word>
Word numbers_in_word(const Sliced& sites, Place word, int part) {
  constexpr int s = sizeof(Word);
  Word result = 0;
  for (int k = 0; k < s; ++k) {
    const int element = sites.element(s * word.x + k, word.y, word.z);
    result |= static_cast<Word>(static_cast<Word>(element >> 8 * part & 0xff) << 8 * k);
  }
  return result;
}

/// Looks around from every word and reads, byte by byte, whom each site sees: its neighbours, as told one by one.
template <class Word>
void expect_words_to_see_what_sites_see() {
  constexpr int s = sizeof(Word);
  for (int size = 4; size <= 20; size += 2) {
    if (size % s != 0) {
      continue;
    }
    SCOPED_TRACE("L = " + std::to_string(size) + ", s = " + std::to_string(s));
    const Sliced sites{size, size}, words{size, size / s};
    const int elements = size * size * size / 2 / s;
    expect_places(words, elements);
    for (const Colour colour : {red, blue}) {
      for (int i = 0; i < elements; ++i) {
        const Place place = words.place(i);
        for (const int part : {0, 1}) {
          const auto around = cpu::look_around<Word>(words.neighbours(colour, place), [&](int, int element) {
            return numbers_in_word<Word>(sites, words.place(element), part);
          });
          for (int k = 0; k < s; ++k) {
            const Neighbours expected = sites.neighbours(colour, {s * place.x + k, place.y, place.z});
            for (int d = 0; d < directions; ++d) {
              ASSERT_EQ(static_cast<int>(around.in[d] >> 8 * k & 0xff), expected.to[d] >> 8 * part & 0xff)
                  << "colour " << colour << ", word " << i << ", site " << k << ", direction " << d;
            }
          }
        }
      }
    }
  }
}

TEST(Words, SeeWhatTheirSitesSee) {
  expect_words_to_see_what_sites_see<std::uint8_t>();
  expect_words_to_see_what_sites_see<std::uint16_t>();
  expect_words_to_see_what_sites_see<std::uint32_t>();
  expect_words_to_see_what_sites_see<std::uint64_t>();
}

/// Couplings are looked up by direction, too: along +x two words are put together, both of direction +x.
TEST(Words, AskInTheDirectionThatTheyLook) {
  const Sliced words{8, 2};
  for (const Colour colour : {red, blue}) {
    const Neighbours neighbours = words.neighbours(colour, {1, 3, 2});
    const auto around = cpu::look_around<std::uint32_t>(
        neighbours, [](int direction, int) { return 0x01010101U * static_cast<std::uint32_t>(direction); });
    for (int d = 0; d < directions; ++d) {
      EXPECT_EQ(around.in[d], 0x01010101U * static_cast<std::uint32_t>(d));
    }
  }
}

}  // namespace
}  // namespace psflip::spin_glass
