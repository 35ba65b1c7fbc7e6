/// The launches that there are for a problem, and how long they take.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "spin_glass/engine/simulation.hpp"

namespace psflip::spin_glass {

/// A launch that is possible for a problem.
struct Possible {
  Launch launch;    ///< complete
  double expected;  ///< seconds for a sweep, by the model of choose.cu
  int group;        ///< equal if only their threads differ
};

/// All that are as wished, the one that is expected to be fastest first. Throws InvalidInput if there is none.
using PossibleLaunches = std::vector<Possible>(const Problem& problem, const Launch& wish);

/// One of these: what an earlier run found to be fastest, or what trials do now, if so many sweeps are to come that
/// they pay; else the first.
using Choose = Launch(const Problem& problem, const Launch& wish, const std::vector<Possible>& possible);

/// Seconds that the device takes for a sweep, by advancing the engine for about so many: the least of some parts, for
/// whatever disturbs one makes it longer.
inline double seconds_of_sweep(Simulation& simulation, double seconds) {
  constexpr double resolution = 1e-9;
  simulation.advance(2);  // loads the kernel
  double least = std::max(resolution, simulation.advance(2)), spent = least;
  while (spent < seconds) {
    const auto sweeps = std::max<std::int64_t>(1, std::llround(seconds / 3 / least));
    const double part = std::max(resolution, simulation.advance(2 * sweeps));
    least = std::min(least, part / static_cast<double>(sweeps));
    spent += part;
  }
  return least;
}

}  // namespace psflip::spin_glass

namespace psflip::cpu {
spin_glass::PossibleLaunches possible_launches;
spin_glass::Choose choose;
spin_glass::MakeSimulation make_launch;  ///< the engine of a launch that is complete
}  // namespace psflip::cpu
namespace psflip::gpu {
spin_glass::PossibleLaunches possible_launches;
spin_glass::Choose choose;
spin_glass::MakeSimulation make_launch;
}  // namespace psflip::gpu
