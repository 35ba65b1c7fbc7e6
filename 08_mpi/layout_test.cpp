// The slabs of all ranks together are the lattice, and their halos are what the neighbours have, for any number of
// ranks. Nothing here needs MPI.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "08_mpi/slab.hpp"
#include "spin_glass/model/problem.hpp"
#include "spin_glass/test/layout_test.hpp"

namespace psflip::spin_glass {
namespace {

std::vector<Slab> slabs_of(int ranks, int size) {
  std::vector<Slab> slabs;
  for (int rank = 0; rank < ranks; ++rank) slabs.push_back(Slab::of(rank, ranks, size));
  return slabs;
}

/// All slabs of all numbers of ranks for sizes that divide well, badly and not at all.
template <class F>
void for_all_cuts(F look) {
  for (int size = 4; size <= 14; size += 2) {
    for (int ranks = 1; ranks <= size / 2; ++ranks) {
      SCOPED_TRACE("L = " + std::to_string(size) + ", " + std::to_string(ranks) + " ranks");
      look(slabs_of(ranks, size), size);
    }
  }
}

TEST(Slab, HasAsManyPlanesAsTheOthersOrOneMore) {
  for_all_cuts([](const std::vector<Slab>& slabs, int size) {
    int planes = 0;
    for (const Slab& slab : slabs) {
      EXPECT_EQ(slab.size, size);
      EXPECT_EQ(slab.first, planes);
      planes += slab.planes;
    }
    EXPECT_EQ(planes, size / 2);
    const auto [least, most] = std::ranges::minmax(slabs, {}, &Slab::planes);
    EXPECT_GE(least.planes, 1);
    EXPECT_LE(most.planes - least.planes, 1);
  });
}

TEST(Slab, NumbersItsPlacesAndKnowsWhichAreItsOwn) {
  for_all_cuts([](const std::vector<Slab>& slabs, int size) {
    for (const Slab& slab : slabs) {
      expect_places(slab, slab.elements());
      for (const Colour colour : {red, blue}) {
        for (int i = 0; i < slab.elements(); ++i) {
          const int number = i - slab.first_owned(colour);  // of the planes that it has, one after the other
          ASSERT_EQ(slab.owns(colour, slab.place(i)), number >= 0 && number < size * size * slab.planes)
              << "colour " << colour << ", element " << i;
        }
      }
    }
  });
}

TEST(Slab, IsAPartOfTheLattice) {
  for_all_cuts([](const std::vector<Slab>& slabs, int size) {
    std::vector<int> times(size * size * size);
    for (const Slab& slab : slabs) {
      for (const Colour colour : {red, blue}) {
        for (int i = 0; i < slab.elements(); ++i) {
          const Place place = slab.place(i);
          const Site site = slab.site(colour, place);
          ASSERT_TRUE(std::min({site.x, site.y, site.z}) >= 0 && std::max({site.x, site.y, site.z}) < size)
              << "colour " << colour << ", element " << i;
          ASSERT_EQ((site.x + site.y + site.z) % 2, colour) << "element " << i;
          if (!slab.owns(colour, place)) continue;
          ++times[number(site, size)];
          const Neighbours neighbours = slab.neighbours(colour, place);
          for (int d = 0; d < directions; ++d) {
            ASSERT_TRUE(neighbours.to[d] >= 0 && neighbours.to[d] < slab.elements())
                << "colour " << colour << ", element " << i << ", direction " << d;
            const Site found = slab.site(other(colour), slab.place(neighbours.to[d]));
            ASSERT_EQ(number(found, size), number(next_to(site, Direction(d), size), size))
                << "colour " << colour << ", element " << i << ", direction " << d;
          }
        }
      }
    }
    EXPECT_EQ(times, std::vector<int>(size * size * size, 1)) << "how many ranks have a site";
  });
}

/// Red planes are sent to the rank before, blue ones to the next.
TEST(Slab, HasTheNeighboursBoundaryPlaneAsHalo) {
  for_all_cuts([](const std::vector<Slab>& slabs, int size) {
    const int ranks = static_cast<int>(slabs.size());
    for (int rank = 0; rank < ranks; ++rank) {
      for (const Colour colour : {red, blue}) {
        const Slab& here = slabs[rank];
        const Slab& sender = slabs[colour == red ? (rank + 1) % ranks : (rank + ranks - 1) % ranks];
        for (int y = 0; y < size; ++y) {
          for (int x = 0; x < size; ++x) {
            const Place halo{x, y, here.halo(colour)}, sent{x, y, sender.boundary(colour)};
            ASSERT_FALSE(here.owns(colour, halo));
            ASSERT_TRUE(sender.owns(colour, sent));
            ASSERT_EQ(number(here.site(colour, halo), size), number(sender.site(colour, sent), size))
                << "rank " << rank << ", colour " << colour << ", x' = " << x << ", y' = " << y;
          }
        }
      }
    }
  });
}

/// What lets the bulk be updated while planes travel: it needs nothing that was received.
TEST(Slab, NeedsTheHaloForItsBoundaryPlaneOnly) {
  for_all_cuts([](const std::vector<Slab>& slabs, int) {
    for (const Slab& slab : slabs) {
      for (const Colour colour : {red, blue}) {
        for (int i = 0; i < slab.elements(); ++i) {
          const Place place = slab.place(i);
          if (!slab.owns(colour, place)) continue;
          const Neighbours neighbours = slab.neighbours(colour, place);
          const bool needs_halo = std::ranges::any_of(
              neighbours.to, [&](int neighbour) { return slab.place(neighbour).z == slab.halo(other(colour)); });
          ASSERT_EQ(needs_halo, place.z == slab.boundary(colour)) << "colour " << colour << ", element " << i;
        }
      }
    }
  });
}

TEST(Slab, HasAnIntForEveryElementOfTheLargestLattice) {
  const Slab slab = Slab::of(0, 1, largest_size);
  EXPECT_EQ(slab.elements(), std::int64_t{largest_size} * largest_size * (largest_size / 2 + 1));
  for (int rank = 0; rank < largest_size / 2; ++rank) {
    EXPECT_EQ(Slab::of(rank, largest_size / 2, largest_size).first, rank);
  }
}

}  // namespace
}  // namespace psflip::spin_glass
