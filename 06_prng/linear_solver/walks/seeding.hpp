/// How the streams of XORWOW begin, and what that does to their first numbers.
#pragma once

#include <cstdint>

#include "06_prng/linear_solver/walks/walks.hpp"
#include "random/states.hpp"

namespace psflip::cpu {
/// Throws InvalidInput if the seeding is not to be had here: subsequences are seeded by cuRAND on a GPU.
void check_seeding(const linear::Request& request);

/// Seeds stream first + id of the request's XORWOW, for all ids of `states` (in the current device's memory).
void seed(const States& states, const linear::Request& request, std::int64_t first);

/// chi^2 per degree of freedom for the hypothesis that the first two numbers of a stream, after those that the request
/// discards, are independent: streams 0 .. streams - 1 put them into 10 x 10 cells. Expected are 1 and a standard
/// deviation of sqrt(2 / 99) = 0.14, for any number of streams; what is wrong grows with their number. In an adjoint
/// walk the two numbers choose the start and the first step. Of the request, generator, seeding, seed and discard
/// matter. Throws InvalidInput unless there are 1000 streams or more.
double pair_chi_squared(const linear::Request& request, std::int64_t streams, int device);
}  // namespace psflip::cpu

namespace psflip::gpu {
void check_seeding(const linear::Request& request);
void seed(const States& states, const linear::Request& request, std::int64_t first);
double pair_chi_squared(const linear::Request& request, std::int64_t streams, int device);

/// As curand_init(seed, first + id, 0): cuRAND jumps 2^67 numbers ahead for each, by matrices. In xorwow.cu, which is
/// built where cuRAND is.
void seed_subsequences(const States& states, std::uint64_t seed, std::int64_t first);
}  // namespace psflip::gpu
