#include "spin_glass/engine/simulation.hpp"

#include <string>

#include "app/invalid_input.hpp"

namespace psflip::spin_glass {

std::string_view name(Indexing indexing) {
  constexpr std::string_view names[] = {"standard", "bitwise", "standard-grid", "sliced", "sliced-grid"};
  return names[static_cast<int>(indexing)];
}

std::string_view name(Load load) {
  constexpr std::string_view names[] = {"plain", "readonly", "texture"};
  return names[static_cast<int>(load)];
}

std::string_view name(Kernel kernel) {
  constexpr std::string_view names[] = {"update", "wide", "fused", "resident", "small"};
  return names[static_cast<int>(kernel)];
}

std::string_view name(Transport transport) {
  constexpr std::string_view names[] = {"staged", "mpi", "nccl", "peer"};
  return names[static_cast<int>(transport)];
}

void Simulation::resume(std::int64_t, const State&, const GiveWord&) {
  throw InvalidInput("the random streams of this engine cannot be continued");
}

void check_resumed(const Problem& problem, std::int64_t half_sweeps, const State& state) {
  if (half_sweeps < 0) {
    throw InvalidInput("a run cannot go on after " + std::to_string(half_sweeps) + " half-sweeps");
  }
  const std::int64_t spins = problem.samples * problem.replicas * sites(problem);
  if (state.size != problem.size || state.samples != problem.samples || state.replicas != problem.replicas ||
      std::ssize(state.spins) != spins) {
    throw InvalidInput("a state of " + std::to_string(state.spins.size()) +
                       " spins, L = " + std::to_string(state.size) + ", " + std::to_string(state.samples) +
                       " samples, " + std::to_string(state.replicas) + " replicas: the problem has " +
                       std::to_string(spins) + ", L = " + std::to_string(problem.size) + ", " +
                       std::to_string(problem.samples) + ", " + std::to_string(problem.replicas));
  }
}

}  // namespace psflip::spin_glass
