/// What every layout of the 3D lattice must be, as tests: stages call them with theirs.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "spin_glass/model/geometry.hpp"

namespace psflip::spin_glass {

/// The site next to another in a direction.
inline Site next_to(const Site& site, Direction direction, int size) {
  int coordinates[] = {site.x, site.y, site.z};
  int& moved = coordinates[direction / 2];
  moved = (moved + (direction % 2 == 0 ? 1 : size - 1)) % size;
  return {coordinates[0], coordinates[1], coordinates[2]};
}

/// Elements and places are one to one: i = x + extent.x (y + extent.y z), 0 <= i < elements.
template <class Layout>
void expect_places(const Layout& layout, int elements) {
  const Place extent = layout.extent();
  ASSERT_EQ(extent.x * extent.y * extent.z, elements);
  for (int i = 0; i < elements; ++i) {
    const Place place = layout.place(i);
    ASSERT_TRUE(place.x >= 0 && place.x < extent.x && place.y >= 0 && place.y < extent.y && place.z >= 0 &&
                place.z < extent.z)
        << "element " << i << " has the place " << place.x << ", " << place.y << ", " << place.z;
    ASSERT_EQ(place.x + extent.x * (place.y + extent.y * place.z), i);
    ASSERT_EQ(layout.element(place.x, place.y, place.z), i);
  }
}

/// The elements of both colours together are the sites of the lattice, each once, of the right colour, and their
/// neighbours are the lattice's. `layout` has one site an element.
template <class Layout>
void expect_lattice(const Layout& layout, int size) {
  SCOPED_TRACE("L = " + std::to_string(size));
  const int half = size * size * size / 2;
  expect_places(layout, half);
  std::vector<int> times(2 * half);
  for (const Colour colour : {red, blue}) {
    for (int i = 0; i < half; ++i) {
      const Site site = layout.site(colour, layout.place(i));
      ASSERT_TRUE(site.x >= 0 && site.x < size && site.y >= 0 && site.y < size && site.z >= 0 && site.z < size)
          << "colour " << colour << ", element " << i;
      ASSERT_EQ((site.x + site.y + site.z) % 2, colour) << "element " << i;
      ++times[number(site, size)];
      const Neighbours neighbours = layout.neighbours(colour, layout.place(i));
      for (int d = 0; d < directions; ++d) {
        ASSERT_TRUE(neighbours.to[d] >= 0 && neighbours.to[d] < half)
            << "colour " << colour << ", element " << i << ", direction " << d;
        const Site found = layout.site(other(colour), layout.place(neighbours.to[d]));
        ASSERT_EQ(number(found, size), number(next_to(site, Direction(d), size), size))
            << "colour " << colour << ", element " << i << ", direction " << d;
      }
    }
  }
  EXPECT_EQ(times, std::vector<int>(2 * half, 1));
}

}  // namespace psflip::spin_glass
