/// One stage's speed: time a sweep for every launch asked for, and the copy bandwidth to measure it by.
///
/// Time is the device's own (Simulation::advance), for K sweeps from the same start, and the state that the last timed
/// sweeps left is checked: a kernel that is fast because it is wrong ends as an error, not as a figure.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

struct Options {
  Problem problem{.size = 64};
  double temperature = 1.1;
  std::optional<double> beta;
  std::int64_t sweeps = 10;
  std::vector<std::string> generators;
  std::map<std::string, std::vector<std::string>> launches;  ///< values to time, by the names of launch_fields()
  int repetitions = 5;
  double min_time = 0;
  std::string device = "auto";
  std::string expect;
  bool unchecked = false;
};

/// What all benchmarks of this process share.
struct Session {
  Options options;
  Choice choice;
  std::map<std::string, Verdict> verdicts;  ///< on the state K sweeps after the start, by those that have to agree
  State agreed;  ///< one with the hash that `agreed_verdict` expects: comparing is faster than hashing again
  const Verdict* agreed_verdict = nullptr;

  // Repetitions of a benchmark are separate calls and share one engine; two engines need not fit into the memory.
  std::unique_ptr<Simulation> simulation;
  std::string simulation_name;
};

/// What one benchmark times.
struct Case {
  std::string name;
  Problem problem;
  Launch launch;
  Verdict* verdict;
};

bool bits_agree(benchmark::State& state, Session& session, const Case& timed, const std::string& when) {
  State now = session.simulation->state();
  if (session.agreed_verdict == timed.verdict && now == session.agreed) return true;
  if (!timed.verdict->agrees(state, hex(state_hash(now)), when)) return false;
  session.agreed = std::move(now);
  session.agreed_verdict = timed.verdict;
  return true;
}

/// The engine for this launch, warm, its bits checked once. Null if they are wrong.
Simulation* prepare(benchmark::State& state, Session& session, const Case& timed) {
  if (session.simulation && session.simulation_name == timed.name) return session.simulation.get();
  session.simulation.reset();
  session.simulation = session.choice.platform->make(timed.problem, timed.launch);
  session.simulation_name = timed.name;
  // The reference is a loop with nothing to warm up, and at the sizes that the GPU needs it runs for ten seconds.
  if (session.choice.platform->name == "reference") return session.simulation.get();
  session.simulation->advance(2 * session.options.sweeps);
  if (!session.options.unchecked && !bits_agree(state, session, timed, "before")) session.simulation.reset();
  return session.simulation.get();
}

/// The launch as words: "indexing:sliced", "load:readonly", "threads:256", without what is empty.
std::vector<std::string> words(const Launch& launch) {
  std::vector<std::string> all;
  for (const LaunchField& field : launch_fields()) {
    if (const auto value = field.get(launch)) all.push_back(field.name + ":" + *value);
  }
  return all;
}

std::string word(Generator generator) { return "generator:" + std::string(name(generator)); }

/// "0123456789abcdef generator:minstd indexing:sliced ...": the hash, if bits were checked, and the launch with
/// everything filled in. Not as counters: those are numbers, and Google Benchmark reports "threads" of its own.
std::string label(const Session& session, const Case& timed) {
  std::string text = session.options.unchecked ? "" : timed.verdict->expected + " ";
  text += word(timed.problem.generator);
  for (const std::string& word : words(session.simulation->launch())) text += " " + word;
  return text;
}

void report(benchmark::State& state, const Session& session, const Case& timed, double seconds) {
  const Problem& problem = timed.problem;
  const double sweeps = static_cast<double>(session.options.sweeps * static_cast<std::int64_t>(state.iterations()));
  const double spins = static_cast<double>(problem.samples * problem.replicas) * static_cast<double>(sites(problem));
  const double flips = sweeps * spins;
  const double bytes_per_flip = session.simulation->bytes_per_flip();
  state.counters["ms_per_sweep"] = seconds / sweeps * 1e3;
  state.counters["ps_per_flip"] = seconds / flips * 1e12;
  state.counters["flips_per_ns"] = flips / seconds * 1e-9;
  state.counters["bytes_per_flip"] = bytes_per_flip;
  state.counters["gb_per_s"] = bytes_per_flip * flips / seconds * 1e-9;
  state.SetLabel(label(session, timed));
}

void measure(benchmark::State& state, Session& session, const Case& timed) {
  Simulation* simulation = prepare(state, session, timed);
  if (!simulation) return;
  const double seconds = time_iterations(state, [&] {
    if (!session.options.unchecked) simulation->restart();
    return simulation->advance(2 * session.options.sweeps);
  });
  if (!session.options.unchecked && !bits_agree(state, session, timed, "after")) return;
  report(state, session, timed, seconds);
}

template <class T, std::size_t n>
std::vector<std::string> names(const std::array<T, n>& values) {
  std::vector<std::string> all;
  for (const T value : values) all.emplace_back(name(value));
  return all;
}

/// The value with this name, one of those that the command line accepts.
template <class T, std::size_t n>
std::optional<T> called(const std::array<T, n>& values, const std::optional<std::string>& wish) {
  for (const T value : values) {
    if (wish == name(value)) return value;
  }
  return std::nullopt;
}

/// Every combination of the values asked for; the first fields vary slowest.
std::vector<Launch> launches(const Options& options) {
  std::vector<Launch> all(1);
  for (const LaunchField& field : launch_fields()) {
    const auto asked = options.launches.find(field.name);
    if (asked == options.launches.end() || asked->second.empty()) continue;
    std::vector<Launch> more;
    for (const Launch& launch : all) {
      for (const std::string& value : asked->second) field.set(more.emplace_back(launch), value);
    }
    all = std::move(more);
  }
  return all;
}

/// Whose states have to be equal: those of all launches, if every site has a stream of its own.
std::string agreeing(const std::string& benchmark, Generator generator) {
  return std::ranges::count(generators, generator) ? std::string(name(generator)) : benchmark;
}

void register_benchmarks(Session& session) {
  const Options& options = session.options;
  // First, while the device's memory is untouched: where its two buffers come to lie changes a copy's speed by a tenth.
  const Problem& problem = options.problem;
  const auto spins = static_cast<std::size_t>(problem.samples * problem.replicas * sites(problem));
  register_copy_benchmark(session.choice.device, spins, [&session] { session.simulation.reset(); });
  for (const auto& generator : or_default(options.generators)) {
    for (Launch launch : launches(options)) {
      Case timed{"spin_glass", options.problem, launch, nullptr};
      timed.problem.generator = called(all_generators, generator).value_or(options.problem.generator);
      timed.launch.device = session.choice.device.index;
      if (generator) timed.name.append("/").append(word(timed.problem.generator));
      for (const std::string& word : words(launch)) timed.name.append("/").append(word);
      timed.verdict = &session.verdicts[agreeing(timed.name, timed.problem.generator)];
      timed.verdict->expected = options.expect;
      register_benchmark(timed.name, options.repetitions, options.min_time,
                         [&session, timed](benchmark::State& state) { measure(state, session, timed); });
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
  line.option("--samples-per-stream", problem.samples_per_stream, "Samples that share random numbers")
      .check(whole_number(1));
  line.option("--beta", options.beta, "Inverse temperature");
  line.option("--temperature", options.temperature, "Temperature, in units of J").excludes("--beta");
  line.option("--seed", problem.seed, "Seed of couplings, start and random streams").check(whole_number(0));
  const auto list = [](const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
    return text;
  };
  line.option("--generator", options.generators, "Of " + list(names(all_generators)) + ": those to time (minstd)")
      .delimiter(',')
      .check(one_of(names(all_generators)));
  for (const LaunchField& field : launch_fields()) {
    line.option(field.option, options.launches[field.name], field.help + ": those to time")
        .delimiter(',')
        .check(field.words.empty() ? whole_number(1, std::numeric_limits<int>::max()) : one_of(field.words));
  }
  line.option("--min-time", options.min_time, "Device seconds of a repetition at least, by repeating its run")
      .check(number(0));
  line.option("--expect", options.expect, "Hash that the state must have after the sweeps");
  line.flag("--unchecked", options.unchecked, "To choose between launches only: never restart, check no bits");
  add_common_options(line, options.repetitions, options.device);
}

/// Throws InvalidInput unless the options make a problem.
void complete_problem(Options& options) {
  if (!(options.temperature > 0) || !std::isfinite(options.temperature)) {
    throw InvalidInput("--temperature is " + std::to_string(options.temperature) +
                       ": allowed are finite numbers above 0");
  }
  options.problem.beta = options.beta.value_or(1 / options.temperature);
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
