// The layouts of this stage are the lattice: spin_glass/test/layout_test.hpp says what that means.
#include <gtest/gtest.h>

#include "04_checkerboard/bitwise.hpp"
#include "04_checkerboard/standard.hpp"
#include "spin_glass/test/layout_test.hpp"

namespace psflip::spin_glass {
namespace {

TEST(Standard, IsTheLatticeForEveryEvenSize) {
  for (int size = 4; size <= 20; size += 2) {
    expect_lattice(Standard{size}, size);
  }
}

TEST(Bitwise, IsTheLatticeForPowersOfTwo) {
  for (int bits = 2; bits <= 5; ++bits) {
    expect_lattice(Bitwise{bits}, 1 << bits);
  }
}

TEST(Bitwise, IsStandardWithoutDivisions) {
  for (int bits = 2; bits <= 5; ++bits) {
    const Standard standard{1 << bits};
    const Bitwise bitwise{bits};
    for (const Colour colour : {red, blue}) {
      for (int i = 0; i < 1 << (3 * bits - 1); ++i) {
        for (int d = 0; d < directions; ++d) {
          ASSERT_EQ(bitwise.neighbours(colour, bitwise.place(i)).to[d],
                    standard.neighbours(colour, standard.place(i)).to[d])
              << "L = " << (1 << bits) << ", colour " << colour << ", element " << i << ", direction " << d;
        }
      }
    }
  }
}

// As published (Lulli, Bernaschi, Parisi, GTC 2015), with L / 2 where the poster's y neighbour has another factor.
TEST(Standard, HasThePublishedNeighbours) {
  for (int L = 4; L <= 20; L += 2) {
    const int hL = L / 2;
    const Standard layout{L};
    for (const Colour colour : {red, blue}) {
      for (int i = 0; i < L * L * L / 2; ++i) {
        const int x = i % hL, y = i / hL % L, z = i / (hL * L);
        const int par = ((y ^ z) & 1) ^ colour;
        const int spx = i - x + (x + 1 - (par ^ 1)) % hL, smx = i - x + (x - 1 + par + hL) % hL;
        const int spy = i + ((y + 1) % L - y) * hL, smy = i + ((y + L - 1) % L - y) * hL;
        const int spz = i + ((z + 1) % L - z) * hL * L, smz = i + ((z + L - 1) % L - z) * hL * L;
        const int published[] = {spx, smx, spy, smy, spz, smz};
        const Neighbours found = layout.neighbours(colour, layout.place(i));
        for (int d = 0; d < directions; ++d) {
          ASSERT_EQ(found.to[d], published[d])
              << "L = " << L << ", colour " << colour << ", element " << i << ", direction " << d;
        }
      }
    }
  }
}

}  // namespace
}  // namespace psflip::spin_glass
