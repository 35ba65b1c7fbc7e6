/// One stage's speed: time a sweep for every launch asked for, and the copy bandwidth to measure it by. What is timed
/// are K sweeps from the same start, by the device's own clock (Simulation::advance).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
#include "app/start.hpp"
#include "app/state_hash.hpp"
#include "gpu/benchmark.hpp"
#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {
namespace {

struct Options : EngineOptions {
  Problem problem{.size = 64};
  double temperature = 1.1;
  std::optional<double> beta;
  std::optional<std::int64_t> samples_per_stream;
  std::int64_t sweeps = 10;
  std::vector<Generator> generators;
};

/// What all benchmarks of this process share.
struct Session {
  Options options;
  ChosenDevice choice;
  std::map<std::string, Verdict> verdicts;  ///< on the state K sweeps after the start, by those that have to agree
  State agreed;  ///< one with the hash that `agreed_verdict` expects: comparing is faster than hashing again
  const Verdict* agreed_verdict = nullptr;
  EngineAtWork at_work;
};

std::string word(Generator generator) { return "generator:" + std::string(name(generator)); }

class Timed : public TimedEngine {
 public:
  Timed(Session& session, Verdict& verdict, const Problem& problem, const Launch& launch)
      : session_(session),
        verdict_(verdict),
        problem_(problem),
        simulation_(session.choice.platform->make(problem, launch)) {}
  void restart() override { simulation_->restart(); }
  double run() override { return simulation_->advance(2 * session_.options.sweeps); }
  bool agrees(benchmark::State& state, const std::string& when) override {
    State now = simulation_->state();
    if (session_.agreed_verdict == &verdict_ && now == session_.agreed) return true;
    if (!verdict_.agrees(state, hex(state_hash(now)), when)) return false;
    session_.agreed = std::move(now);
    session_.agreed_verdict = &verdict_;
    return true;
  }
  /// The label is "0123456789abcdef generator:minstd indexing:sliced ...": the hash, if bits were checked, and the
  /// launch with everything filled in. Not as counters: those are numbers, and Google Benchmark reports "threads" of
  /// its own.
  void report(benchmark::State& state, double seconds) override {
    const double sweeps = static_cast<double>(session_.options.sweeps * static_cast<std::int64_t>(state.iterations()));
    const double flips =
        sweeps * static_cast<double>(problem_.samples * problem_.replicas) * static_cast<double>(sites(problem_));
    const double bytes_per_flip = simulation_->bytes_per_flip();
    state.counters["ms_per_sweep"] = seconds / sweeps * 1e3;
    state.counters["ps_per_flip"] = seconds / flips * 1e12;
    state.counters["flips_per_ns"] = flips / seconds * 1e-9;
    state.counters["bytes_per_flip"] = bytes_per_flip;
    state.counters["gb_per_s"] = bytes_per_flip * flips / seconds * 1e-9;
    state.SetLabel((session_.options.unchecked ? "" : verdict_.expected + " ") + word(problem_.generator) +
                   words(simulation_->launch(), ' '));
  }

 private:
  Session& session_;
  Verdict& verdict_;
  Problem problem_;
  std::unique_ptr<Simulation> simulation_;
};

/// Whose states have to be equal: those of all launches, if every site has a stream of its own.
std::string agreeing(const std::string& benchmark, Generator generator) {
  return std::ranges::count(generators, generator) ? std::string(name(generator)) : benchmark;
}

void register_benchmarks(Session& session) {
  const Options& options = session.options;
  // First, while the device's memory is untouched: where its two buffers come to lie changes a copy's speed by a tenth.
  const Problem& problem = options.problem;
  const auto spins = static_cast<std::size_t>(problem.samples * problem.replicas * sites(problem));
  register_copy_benchmark(session.choice.device, spins, [&session] { session.at_work.engine.reset(); });
  for (const auto& generator : or_default(options.generators)) {
    Problem asked = problem;
    asked.generator = generator.value_or(problem.generator);
    asked.samples_per_stream = options.samples_per_stream.value_or(usual_samples_per_stream(asked.generator));
    for (const Launch& launch : launches<Launch>(options, session.choice.device.index)) {
      const std::string name = "spin_glass" + (generator ? "/" + word(*generator) : "") + words(launch);
      Verdict& verdict = session.verdicts[agreeing(name, asked.generator)];
      register_engine(
          name, options, session.choice.platform->name == "reference", session.at_work, verdict,
          [&session, &verdict, asked, launch] { return std::make_unique<Timed>(session, verdict, asked, launch); });
    }
  }
}

void describe_problem(const Options& options) {
  const Problem& problem = options.problem;
  add_context("size", std::to_string(problem.size));
  add_context("sweeps", std::to_string(options.sweeps));
  add_context("samples", std::to_string(problem.samples));
  add_context("replicas", std::to_string(problem.replicas));
  add_context("samples_per_stream", std::to_string(problem.samples_per_stream));
  add_context("beta", std::to_string(problem.beta));
  add_context("seed", std::to_string(problem.seed));
}

void add_options(CommandLine& line, Options& options) {
  Problem& problem = options.problem;
  line.option("--size", problem.size, "L, sites along each side: even").check(whole_number(1));
  line.option("--sweeps", options.sweeps, "Sweeps in one timed run").check(whole_number(1, 1 << 30));
  line.option("--samples", problem.samples, "Realisations of the couplings").check(whole_number(1));
  line.option("--replicas", problem.replicas, "Copies of each sample").check(whole_number(1));
  line.option("--samples-per-stream", options.samples_per_stream, "Samples that share random numbers")
      .check(whole_number(1));
  line.option("--beta", options.beta, "Inverse temperature");
  line.option("--temperature", options.temperature, "Temperature, in units of J").excludes("--beta");
  line.option("--seed", problem.seed, "Seed of couplings, start and random streams").check(whole_number(0));
  line.option("--generator", options.generators, "Of " + joined(names<Generator>()) + ": those to time (minstd)")
      .delimiter(',');
  declare<Launch>(line, options);
}

/// Throws InvalidInput unless the options make a problem.
void complete_problem(Options& options) {
  if (!(options.temperature > 0) || !std::isfinite(options.temperature)) {
    throw InvalidInput("--temperature is " + std::to_string(options.temperature) +
                       ": allowed are finite numbers above 0");
  }
  options.problem.beta = options.beta.value_or(1 / options.temperature);
  if (!options.generators.empty()) options.problem.generator = options.generators.front();
  options.problem.samples_per_stream =
      options.samples_per_stream.value_or(usual_samples_per_stream(options.problem.generator));
  check(options.problem);
  if (!options.expect.empty() && options.generators.size() > 1)
    throw InvalidInput("--expect is one hash: it takes one --generator, not " +
                       std::to_string(options.generators.size()));
}

int time_stage(int argc, char** argv) {
  Session session;
  CommandLine line("Times stage " + std::string(stage()) + " of the 3D spin glass.", "spin_glass_benchmark");
  add_options(line, session.options);
  return run_benchmarks(line, argc, argv, [&session] {
    complete_problem(session.options);
    session.choice = choose_device(platforms(), session.options.device);
    describe(stage(), session.choice.device);
    describe_problem(session.options);
    register_benchmarks(session);
  });
}

}  // namespace
}  // namespace psflip::spin_glass

int main(int argc, char** argv) { return psflip::start(argc, argv, psflip::spin_glass::time_stage); }
