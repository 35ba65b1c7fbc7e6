/// What a measurement costs: time to observe all samples of an engine, in sweeps of the same engine.
///
/// Time is what a run waits for it, transfers and the host's share included. A few samples are compared with what the
/// host computes from the engine's state: what is fast because it is wrong ends as an error, not as a figure.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
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
  Choice choice;
  Verdict verdict;

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
    session.simulation = session.choice.platform->make_simulation(
        timed.problem, {.device = session.choice.device.index, .samples_per_word = timed.samples_per_word});
    session.simulation_name = timed.engine;
    const std::int64_t sweeps = session.options.sweeps;
    session.simulation->advance(2 * sweeps);
    session.seconds_per_sweep = session.simulation->advance(2 * sweeps) / static_cast<double>(sweeps);
  }
  return *session.simulation;
}

void measure(benchmark::State& state, Session& session, const Case& timed) {
  using Clock = std::chrono::steady_clock;
  const Simulation& simulation = prepare(session, timed);
  std::optional<Observables> found = simulation.observe(timed.correlations);
  if (!found) throw InvalidInput("this engine cannot observe where the spins are");
  double seconds = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const auto begin = Clock::now();
    found = simulation.observe(timed.correlations);
    const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
    state.SetIterationTime(taken);
    seconds += taken;
  }
  if (!agrees_with_host(simulation, timed, *found)) {
    session.verdict.failed = true;
    state.SkipWithError("wrong observables");
    return;
  }
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
                           [&session, timed](benchmark::State& state) {
                             measure_or_report(state, session.verdict, [&] { measure(state, session, timed); });
                           });
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
  line.option("--repetitions", options.repetitions, "Timed measurements of each kind").check(whole_number(1));
  line.option("--device", options.device, "auto, cpu, gpu, or the number of a GPU");
  line.footer("Options of Google Benchmark (--benchmark_format=json, --benchmark_filter=...) work too.");
  line.allow_extras();
}

}  // namespace
}  // namespace psflip::spin_glass

int main(int argc, char** argv) {
  using namespace psflip::spin_glass;
  Session session;
  psflip::CommandLine line("Times a measurement of all samples, with and without the correlations of their overlaps.",
                           "observe_benchmark");
  add_options(line, session.options);
  const int code = psflip::run_program(line, argc, argv, [&line, &session] {
    psflip::initialise_google_benchmark(line);
    session.choice = psflip::choose_device(platforms(), session.options.device);
    psflip::describe(stage(), session.choice.device);
    psflip::add_context("samples", std::to_string(session.options.problem.samples));
    psflip::add_context("replicas", std::to_string(session.options.problem.replicas));
    register_benchmarks(session);
    psflip::run_benchmarks();
  });
  return code == 0 && session.verdict.failed ? 1 : code;
}
