/// Which launches a stage of the 3D model offers, and how a wish becomes one of them.
#pragma once

#include <string>
#include <vector>

#include "spin_glass/engine/launch.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {

/// What a stage can do for a problem.
struct Offer {
  std::vector<Launch> launches{};  ///< one or more, device and threads left open; the stage's choice comes first
  std::vector<Generator> generators{Generator::minstd};
  int threads = 256;        ///< the stage's choice
  int most_threads = 1024;  ///< of a block
};

/// Throws InvalidInput if the problem is none, or the stage does not have its generator.
void check(const Problem& problem, const std::vector<Generator>& offered);

/// Throws InvalidInput unless a block can have so many threads.
void check_threads(int threads, int most);

/// Leaves those of the launches that have every value of the wish. Throws InvalidInput if there is none, naming the
/// first value that cannot be had and those that can.
void narrow(std::vector<Launch>& launches, const Launch& wish);

/// The first launch that is as wished, with its threads. Throws InvalidInput, as the functions above, if there is none.
Launch complete(const Problem& problem, const Launch& wish, Offer offer);

}  // namespace psflip::spin_glass
