/// A lattice of the 2D model: how it starts, and the numbers by which results are compared.
#pragma once

#include <cstdint>

#include "majority/simulation.hpp"

namespace psflip::majority {

/// The start that every program and test uses: one draw of std::mt19937(seed) a spin, row by row; up iff the draw's top
/// bit is set. `size` >= 1.
Lattice random_lattice(std::int64_t size, std::uint32_t seed);

/// The canonical hash (app/state_hash.hpp), spins row by row.
std::uint64_t state_hash(const Lattice& lattice);

/// The sum of all spins.
std::int64_t magnetisation(const Lattice& lattice);

/// E = - sum of s s' over the bonds from every site to the right and down. All 2 n^2 of them count, so two sites of a
/// lattice with n = 2 share two bonds, and the one site of n = 1 is bound to itself twice.
std::int64_t energy(const Lattice& lattice);

}  // namespace psflip::majority
