#include "spin_glass/run/simulate.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/progress.hpp"
#include "app/state_hash.hpp"
#include "spin_glass/model/averages.hpp"
#include "spin_glass/model/observables.hpp"

namespace psflip::spin_glass {
namespace {

/// The couplings of the samples, made when somebody asks for them, and kept.
class Couplings {
 public:
  explicit Couplings(const Problem& problem) : problem_(problem), made_(problem.samples) {}

  const std::vector<Coupling>& operator[](std::int64_t sample) {
    if (problem_.given_couplings) {
      return (*problem_.given_couplings)[sample];
    }
    if (made_[sample].empty()) {
      made_[sample] = sample_couplings(problem_, sample);
    }
    return made_[sample];
  }

 private:
  const Problem& problem_;
  std::vector<std::vector<Coupling>> made_;
};

/// Measures the state of now: rows to the files, sums and averages to the result.
void measure(const Simulation& simulation, const Run& run, std::int64_t sweep, Couplings& couplings, RunFiles& files,
             Checkpointer* checkpointer, Result& result) {
  const Problem& problem = run.problem;
  const auto* const observing = dynamic_cast<const Observing*>(&simulation);
  const auto observed = observing != nullptr ? observing->observe(run.correlates()) : std::nullopt;
  const State state = observed ? State{} : simulation.state();
  Averager averager(problem);
  result.energy = result.magnetisation = 0;
  if (problem.ladder) result.ladder.begin(sweep, simulation.exchanges());
  for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
    const SampleObservables observables =
        observed ? (*observed)[sample] : observe(state, sample, couplings[sample], run.correlates());
    if (problem.ladder)
      result.ladder.add(sample, observables);
    else
      averager.add(observables);
    for (std::int64_t replica = 0; replica < problem.replicas; ++replica) {
      result.energy += observables.energies[replica];
      result.magnetisation += observables.magnetisations[replica];
    }
    files.add(sweep, sample, observables);
    if (checkpointer != nullptr) {
      checkpointer->add(sweep, sample, observables);
    }
  }
  files.flush();
  if (checkpointer != nullptr) {
    checkpointer->flush();
  }
  if (!problem.ladder) result.averages.push_back({sweep, averager.averages(), averager.correlations()});
}

std::string hash_of_state(const Simulation& simulation) {
  StateHash hash;
  take_state(simulation, [&](std::span<const Spin> spins) { hash.add(spins); });
  return hex(hash.value());
}

}  // namespace

void simulate(Simulation& simulation, const Run& run, const Schedule& schedule, RunFiles& files,
              Checkpointer* checkpointer, Result& result) {
  Couplings couplings(run.problem);
  std::int64_t done = simulation.half_sweeps() / 2;
  std::int64_t measured = result.measured();
  Progress progress("sweeps", run.sweeps, done);
  Parts parts;
  while (measured < run.sweeps) {
    const std::int64_t next = schedule.after(measured);
    if (done < next) {
      std::int64_t sweeps = (checkpointer != nullptr ? std::min(next, checkpointer->next(done)) : next) - done;
      if (checkpointer != nullptr || progress.watched()) {  // a signal, the clock or a person wants to be heard
        sweeps = parts.next(sweeps);
      }
      const double seconds = simulation.advance(2 * sweeps);
      parts.took(sweeps, seconds);
      result.seconds += seconds;
      done += sweeps;
      progress.at(done);
    }
    if (done == next) {
      measure(simulation, run, done, couplings, files, checkpointer, result);
      measured = done;
    }
    if (checkpointer != nullptr && measured < run.sweeps && checkpointer->is_due(done)) {
      checkpointer->save(simulation, result);
      checkpointer->end_if_interrupted();
    }
  }
  if (checkpointer != nullptr) {
    checkpointer->save(simulation, result);
  }
  result.hash = hash_of_state(simulation);
}

}  // namespace psflip::spin_glass
