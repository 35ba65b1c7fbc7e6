#include "spin_glass/engine/simulation.hpp"

#include <string>

#include "app/invalid_input.hpp"

namespace psflip::spin_glass {

void take_state(const Simulation& simulation, const TakeSpins& take) {
  if (const auto* observing = dynamic_cast<const Observing*>(&simulation)) {
    observing->take_state(take);
  } else {
    take(simulation.state().spins);
  }
}

void check_resumed(const Problem& problem, std::int64_t half_sweeps, const State& state) {
  if (half_sweeps < 0) {
    throw InvalidInput("a run cannot go on after " + std::to_string(half_sweeps) + " half-sweeps");
  }
  const std::int64_t spins = problem.samples * problem.replicas * sites(problem);
  if (state.size != problem.size || state.samples != problem.samples || state.replicas != problem.replicas ||
      state.temperatures != temperatures(problem) || std::ssize(state.spins) != spins) {
    throw InvalidInput("a state of " + std::to_string(state.spins.size()) +
                       " spins, L = " + std::to_string(state.size) + ", " + std::to_string(state.samples) +
                       " samples, " + std::to_string(state.replicas) + " replicas: the problem has " +
                       std::to_string(spins) + ", L = " + std::to_string(problem.size) + ", " +
                       std::to_string(problem.samples) + ", " + std::to_string(problem.replicas));
  }
  const std::int64_t walkers = problem.ladder ? problem.samples * problem.replicas : 0;
  if (std::ssize(state.exchanges.accepted) != walkers || std::ssize(state.exchanges.walkers) != walkers) {
    throw InvalidInput("a state with " + std::to_string(state.exchanges.walkers.size()) +
                       " walkers between temperatures: the problem has " + std::to_string(walkers));
  }
}

}  // namespace psflip::spin_glass
