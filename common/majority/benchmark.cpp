/// One stage's speed: time a step for every launch shape asked for, and the copy bandwidth to measure it by.
///
/// Time is the device's own (Simulation::advance), for K steps from the same start, and the state that the last timed
/// steps left is checked: a kernel that is fast because it is wrong ends as an error, not as a figure.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/state_hash.hpp"
#include "gpu/benchmark.hpp"
#include "majority/lattice.hpp"
#include "majority/platforms.hpp"
#include "majority/simulation.hpp"

namespace psflip::majority {
namespace {

struct Options {
  std::int64_t size = 1000;
  std::int64_t steps = 10;
  std::uint32_t seed = 42;
  std::vector<std::string> storages;
  std::vector<int> thread_widths;
  std::vector<int> blocks;
  std::vector<int> steps_per_pass;
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
  Lattice start;
  Verdict verdict;  ///< on the state K steps after the start

  // Repetitions of a benchmark are separate calls and share one engine; two engines need not fit into the memory.
  std::unique_ptr<Simulation> simulation;
  std::string simulation_name;
};

bool bits_agree(benchmark::State& state, Session& session, const std::string& when) {
  return session.verdict.agrees(state, hex(state_hash(session.simulation->spins())), when);
}

/// The engine for this launch, warm, its bits checked once. Null if they are wrong.
Simulation* prepare(benchmark::State& state, Session& session, const std::string& name, Launch launch) {
  if (session.simulation && session.simulation_name == name) return session.simulation.get();
  session.simulation.reset();
  launch.device = session.choice.device.index;
  session.simulation = session.choice.platform->make(session.options.size, launch);
  session.simulation_name = name;
  session.simulation->set_spins(session.start);
  // The reference is a loop with nothing to warm up, and at the sizes that the GPU needs it runs for ten seconds.
  if (session.choice.platform->name == "reference") return session.simulation.get();
  session.simulation->advance(session.options.steps);
  if (!session.options.unchecked && !bits_agree(state, session, "before")) session.simulation.reset();
  return session.simulation.get();
}

void report(benchmark::State& state, const Session& session, const Launch& launch, double seconds) {
  const double steps = static_cast<double>(session.options.steps * static_cast<std::int64_t>(state.iterations()));
  const double sites = static_cast<double>(session.options.size) * static_cast<double>(session.options.size);
  // Each spin is read once and written once in a pass: the least that any version can move.
  const std::int64_t most = launch.steps_per_pass.value_or(1);
  const double passes_per_step =
      static_cast<double>((session.options.steps + most - 1) / most) / static_cast<double>(session.options.steps);
  const double bytes_per_site = 2 * bytes_per_spin(launch.storage.value()) * passes_per_step;
  state.counters["ms_per_step"] = seconds / steps * 1e3;
  state.counters["ps_per_site"] = seconds / steps / sites * 1e12;
  state.counters["bytes_per_site"] = bytes_per_site;
  state.counters["gb_per_s"] = bytes_per_site * sites * steps / seconds * 1e-9;
  if (launch.thread_width) state.counters["thread_width"] = *launch.thread_width;
  if (launch.block) state.counters["block"] = *launch.block;
  if (launch.steps_per_pass) state.counters["steps_per_pass"] = *launch.steps_per_pass;
  if (!session.options.unchecked) state.SetLabel(session.verdict.expected);
}

void measure(benchmark::State& state, Session& session, const std::string& name, const Launch& launch) {
  Simulation* simulation = prepare(state, session, name, launch);
  if (!simulation) return;
  const double seconds = time_iterations(state, [&] {
    if (!session.options.unchecked) simulation->set_spins(session.start);
    return simulation->advance(session.options.steps);
  });
  if (!session.options.unchecked && !bits_agree(state, session, "after")) return;
  report(state, session, simulation->launch(), seconds);
}

void register_one(Session& session, const std::string& name, const Launch& launch) {
  register_benchmark(name, session.options.repetitions, session.options.min_time,
                     [&session, name, launch](benchmark::State& state) { measure(state, session, name, launch); });
}

void register_benchmarks(Session& session) {
  const Options& options = session.options;
  for (const auto& storage : or_default(options.storages)) {
    for (const auto thread_width : or_default(options.thread_widths)) {
      for (const auto block : or_default(options.blocks)) {
        for (const auto steps_per_pass : or_default(options.steps_per_pass)) {
          std::string name = "majority";
          if (storage) name += "/storage:" + *storage;
          if (thread_width) name += "/thread_width:" + std::to_string(*thread_width);
          if (block) name += "/block:" + std::to_string(*block);
          if (steps_per_pass) name += "/steps_per_pass:" + std::to_string(*steps_per_pass);
          const Launch launch{.storage = storage ? storage_called(*storage) : std::nullopt,
                              .thread_width = thread_width,
                              .block = block,
                              .steps_per_pass = steps_per_pass};
          register_one(session, name, launch);
        }
      }
    }
  }
  const auto size = static_cast<std::size_t>(options.size);
  const std::size_t widest = options.storages.empty() || std::ranges::count(options.storages, "int32") ? 4 : 1;
  register_copy_benchmark(session.choice.device, size * size * widest, [&session] { session.simulation.reset(); });
}

void describe_problem(const Options& options) {
  add_context("size", std::to_string(options.size));
  add_context("steps", std::to_string(options.steps));
  add_context("seed", std::to_string(options.seed));
}

void add_options(CommandLine& line, Options& options) {
  line.option("--size", options.size, "Spins along each side").check(whole_number(1));
  line.option("--steps", options.steps, "Updates of the whole lattice in one timed run").check(whole_number(1));
  line.option("--seed", options.seed, "Seed of the random start").check(whole_number(0, UINT32_MAX));
  line.option("--storage", options.storages, "How the device stores a spin: int32, int8, bit, or several of them")
      .delimiter(',')
      .check(one_of({"int32", "int8", "bit"}));
  line.option("--thread-width", options.thread_widths, "Threads along each side of a thread block").delimiter(',');
  line.option("--block", options.blocks, "Spins along each side of the square of one thread").delimiter(',');
  line.option("--steps-per-pass", options.steps_per_pass, "Steps at most between reading and writing the lattice")
      .delimiter(',');
  line.option("--min-time", options.min_time, "Device seconds of a repetition at least, by repeating its run")
      .check(number(0));
  line.option("--expect", options.expect, "Hash that the state must have after the steps");
  line.flag("--unchecked", options.unchecked, "To choose between shapes only: never restart, check no bits");
  add_common_options(line, options.repetitions, options.device);
}

}  // namespace
}  // namespace psflip::majority

int main(int argc, char** argv) {
  using namespace psflip::majority;
  Session session;
  psflip::CommandLine line("Times stage " + std::string(stage()) + " of the 2D majority model.", "majority_benchmark");
  add_options(line, session.options);
  return psflip::run_benchmarks(line, argc, argv, [&session] {
    session.verdict.expected = session.options.expect;
    session.choice = psflip::choose_device(platforms(), session.options.device);
    session.start = random_lattice(session.options.size, session.options.seed);
    psflip::describe(stage(), session.choice.device);
    describe_problem(session.options);
    register_benchmarks(session);
  });
}
