/// What a measurement costs: time to observe all samples of an engine, in sweeps of the same engine.
///
/// Time is what a run waits for it, transfers and the host's share included. A few samples are compared with what the
/// host computes from the engine's state: what is fast because it is wrong ends as an error, not as a figure.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
#include "app/stopwatch.hpp"
#include "gpu/benchmark.hpp"
#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {
namespace {

struct Options {
  std::vector<std::int64_t> sizes{64};
  Problem problem{.beta = 1 / 1.1, .samples = 32, .generator = Generator::philox};
  std::vector<int> samples_per_word;
  std::int64_t sweeps = 10;
  int repetitions = 5;
  std::string device = "auto";
};

/// What all benchmarks of this process share.
struct Session {
  Options options;
  ChosenDevice choice;

  // Two engines need not fit into the memory.
  std::unique_ptr<Simulation> simulation;
  std::string simulation_name;
  double seconds_per_sweep = 0;  ///< of this engine
};

struct Case {
  std::string engine;
  Problem problem;
  std::optional<int> samples_per_word;
  bool correlations;
};

using Observables = std::vector<SampleObservables>;

bool agrees_with_host(const Simulation& simulation, const Case& timed, const Observables& found) {
  const State state = simulation.state();
  const Problem& problem = timed.problem;
  for (const std::int64_t sample : {std::int64_t{0}, problem.samples / 2, problem.samples - 1}) {
    if (found[static_cast<std::size_t>(sample)] !=
        observe(state, sample, sample_couplings(problem, sample), timed.correlations))
      return false;
  }
  return true;
}

/// The engine of the case, after some sweeps, the last of which were timed.
Simulation& prepare(Session& session, const Case& timed) {
  if (!session.simulation || session.simulation_name != timed.engine) {
    session.simulation.reset();
    session.simulation = session.choice.platform->make(
        timed.problem, {.device = session.choice.device.index, .samples_per_word = timed.samples_per_word});
    session.simulation_name = timed.engine;
    const std::int64_t sweeps = session.options.sweeps;
    session.simulation->advance(2 * sweeps);
    session.seconds_per_sweep = session.simulation->advance(2 * sweeps) / static_cast<double>(sweeps);
  }
  return *session.simulation;
}

void measure(benchmark::State& state, Session& session, const Case& timed) {
  const Simulation& simulation = prepare(session, timed);
  const auto& observing = dynamic_cast<const Observing&>(simulation);
  std::optional<Observables> found = observing.observe(timed.correlations);
  if (!found) throw InvalidInput("this engine cannot observe where the spins are");
  const double seconds = time_iterations(state, [&] {
    const Stopwatch watch;
    found = observing.observe(timed.correlations);
    return watch.seconds();
  });
  if (!agrees_with_host(simulation, timed, *found)) return fail(state, "wrong observables");
  state.counters["ms_per_sweep"] = session.seconds_per_sweep * 1e3;
  state.counters["sweeps"] = seconds / static_cast<double>(state.iterations()) / session.seconds_per_sweep;
}

void register_benchmarks(Session& session) {
  const Options& options = session.options;
  for (const std::int64_t size : options.sizes) {
    for (const auto samples_per_word : or_default(options.samples_per_word)) {
      Case timed{"observe/size:" + std::to_string(size), options.problem, samples_per_word, false};
      if (samples_per_word) timed.engine += "/samples_per_word:" + std::to_string(*samples_per_word);
      timed.problem.size = size;
      check(timed.problem);
      for (const bool correlations : {false, true}) {
        timed.correlations = correlations;
        register_benchmark(timed.engine + "/correlations:" + std::to_string(correlations), options.repetitions, 0,
                           [&session, timed](benchmark::State& state) { measure(state, session, timed); });
      }
    }
  }
}

void add_options(CommandLine& line, Options& options) {
  Problem& problem = options.problem;
  line.option("--size", options.sizes, "Sites along each side: even").delimiter(',').check(whole_number(1));
  line.option("--samples", problem.samples, "Realisations of the couplings").check(whole_number(1));
  line.option("--replicas", problem.replicas, "Copies of each sample").check(whole_number(1));
  line.option("--samples-per-stream", problem.samples_per_stream, "Samples that share random numbers")
      .check(whole_number(1));
  line.option("--samples-per-word", options.samples_per_word, "Samples that are bits of one word").delimiter(',');
  line.option("--sweeps", options.sweeps, "Sweeps to compare with").check(whole_number(1, 1 << 30));
  add_common_options(line, options.repetitions, options.device);
}

}  // namespace
}  // namespace psflip::spin_glass

int main(int argc, char** argv) {
  using namespace psflip::spin_glass;
  Session session;
  psflip::CommandLine line("Times a measurement of all samples, with and without the correlations of their overlaps.",
                           "observe_benchmark");
  add_options(line, session.options);
  return psflip::run_benchmarks(line, argc, argv, [&session] {
    session.choice = psflip::choose_device(platforms(), session.options.device);
    psflip::describe(stage(), session.choice.device);
    psflip::add_context("samples", std::to_string(session.options.problem.samples));
    psflip::add_context("replicas", std::to_string(session.options.problem.replicas));
    register_benchmarks(session);
  });
}
