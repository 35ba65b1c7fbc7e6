#include "majority/lattice.hpp"

#include <numeric>
#include <random>

#include "app/state_hash.hpp"

namespace psflip::majority {

Lattice random_lattice(std::int64_t size, std::uint32_t seed) {
  Lattice lattice{size, std::vector<Spin>(size * size)};
  std::mt19937 random(seed);
  for (Spin& spin : lattice.spins) {
    spin = (random() >> 31) != 0 ? 1 : -1;
  }
  return lattice;
}

std::uint64_t state_hash(const Lattice& lattice) {
  StateHash state;
  state.add(lattice.spins);
  return state.value();
}

std::int64_t magnetisation(const Lattice& lattice) {
  return std::accumulate(lattice.spins.begin(), lattice.spins.end(), std::int64_t{0});
}

std::int64_t energy(const Lattice& lattice) {
  const std::int64_t n = lattice.size;
  std::int64_t satisfied_minus_broken = 0;
  for (std::int64_t y = 0; y < n; ++y) {
    const Spin* row = &lattice.spins[y * n];
    const Spin* below = &lattice.spins[(y + 1) % n * n];
    for (std::int64_t x = 0; x < n; ++x) {
      satisfied_minus_broken += row[x] * (row[x + 1 < n ? x + 1 : 0] + below[x]);
    }
  }
  return -satisfied_minus_broken;
}

}  // namespace psflip::majority
