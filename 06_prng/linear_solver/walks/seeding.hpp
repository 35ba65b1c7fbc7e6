/// How the streams of XORWOW begin.
#pragma once

#include <cstdint>

#include "06_prng/linear_solver/walks/walks.hpp"
#include "random/states.hpp"

namespace psflip::cpu {
/// Throws InvalidInput if the seeding is not to be had here: subsequences are seeded by cuRAND on a GPU.
void check_seeding(const linear::Request& request);

/// Seeds stream first + id of the request's XORWOW, for all ids of `states` (in the current device's memory).
void seed(const States& states, const linear::Request& request, std::int64_t first);
}  // namespace psflip::cpu

namespace psflip::gpu {
void check_seeding(const linear::Request& request);
void seed(const States& states, const linear::Request& request, std::int64_t first);

/// As curand_init(seed, first + id, 0): cuRAND jumps 2^67 numbers ahead for each, by matrices. In xorwow.cu, which is
/// built where cuRAND is.
void seed_subsequences(const States& states, std::uint64_t seed, std::int64_t first);
}  // namespace psflip::gpu
