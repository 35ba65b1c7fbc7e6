/// What the walks do on the host before they start: checks, the start's CDF, the division of labour.
#pragma once

#include <cstdint>
#include <vector>

#include "06_prng/linear_solver/walks/walks.hpp"

namespace psflip::linear {

/// Throws InvalidInput for what walks.hpp says that walk() refuses, memory excepted.
void check(const Tables& tables, const Scaled& scaled, const Request& request);

/// The load that is compiled for the request: ldg_h is plain if nobody reads H.
Load load_of(const Request& request);

/// Where adjoint histories start: at s with probability |b_s| / ||b||_1.
struct Start {
  std::vector<double> cdf;  ///< exactly 1 from the last s on that has b_s != 0
  double norm = 0;          ///< ||b||_1
};
Start start_of(const std::vector<double>& b);

/// Groups of histories: as requested, but none without a history.
std::int64_t groups_of(const Request& request);

/// The beginning of part k of `all` that are divided into `parts` as equal as can be.
std::int64_t part_of(std::int64_t all, std::int64_t k, std::int64_t parts);

/// How many histories (forward: of each entry) a launch may have at most. The states of XORWOW take memory, and
/// progress is told between launches.
std::int64_t histories_of_launch(const Request& request, std::int64_t rows);

}  // namespace psflip::linear
