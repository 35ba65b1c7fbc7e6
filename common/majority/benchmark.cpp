/// One stage's speed: time a step for every launch shape asked for, and the copy bandwidth to measure it by. What is
/// timed are K steps from the same start, by the device's own clock (Simulation::advance).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/state_hash.hpp"
#include "app/text.hpp"
#include "gpu/benchmark.hpp"
#include "majority/lattice.hpp"
#include "majority/platforms.hpp"
#include "majority/simulation.hpp"

namespace psflip::majority {
namespace {

struct Options : EngineOptions {
  std::int64_t size = 1000;
  std::int64_t steps = 10;
  std::uint32_t seed = 42;
};

/// What all benchmarks of this process share.
struct Session {
  Options options;
  ChosenDevice choice;
  Lattice start;
  Verdict verdict;  ///< on the state K steps after the start
  EngineAtWork at_work;
};

class Timed : public TimedEngine {
 public:
  Timed(Session& session, const Launch& launch)
      : session_(session), simulation_(session.choice.platform->make(session.options.size, launch)) {
    restart();
  }
  void restart() override { simulation_->set_spins(session_.start); }
  double run() override { return simulation_->advance(session_.options.steps); }
  bool agrees(benchmark::State& state, const std::string& when) override {
    return session_.verdict.agrees(state, hex(state_hash(simulation_->spins())), when);
  }
  void report(benchmark::State& state, double seconds) override {
    const std::int64_t steps = session_.options.steps;
    const double all_steps = static_cast<double>(steps * static_cast<std::int64_t>(state.iterations()));
    const double sites = static_cast<double>(session_.options.size) * static_cast<double>(session_.options.size);
    // Each spin is read once and written once in a pass: the least that any version can move.
    const Launch launch = simulation_->launch();
    const std::int64_t most = launch.steps_per_pass.value_or(1);
    const std::int64_t passes = (steps + most - 1) / most;
    const double passes_per_step = static_cast<double>(passes) / static_cast<double>(steps);
    const double bytes_per_site = 2 * bytes_per_spin(launch.storage.value()) * passes_per_step;
    state.counters["ms_per_step"] = seconds / all_steps * 1e3;
    state.counters["ps_per_site"] = seconds / all_steps / sites * 1e12;
    state.counters["bytes_per_site"] = bytes_per_site;
    state.counters["gb_per_s"] = bytes_per_site * sites * all_steps / seconds * 1e-9;
    for (const LaunchField& field : launch_fields())
      if (const auto value = field.get(launch); value && field.words.empty())
        state.counters[field.name] = number_in<int>(*value).value();
    if (!session_.options.unchecked) state.SetLabel(session_.verdict.expected);
  }

 private:
  Session& session_;
  std::unique_ptr<Simulation> simulation_;
};

void register_benchmarks(Session& session) {
  const Options& options = session.options;
  for (const Launch& launch : launches<Launch>(options, session.choice.device.index))
    register_engine("majority" + words(launch), options, session.choice.platform->name == "reference", session.at_work,
                    session.verdict, [&session, launch] { return std::make_unique<Timed>(session, launch); });
  const auto size = static_cast<std::size_t>(options.size);
  const std::vector<std::string>& storages = options.launches.at("storage");
  const std::size_t widest = storages.empty() || std::ranges::count(storages, "int32") ? 4 : 1;
  register_copy_benchmark(session.choice.device, size * size * widest, [&session] { session.at_work.engine.reset(); });
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
  declare<Launch>(line, options);
}

}  // namespace
}  // namespace psflip::majority

int main(int argc, char** argv) {
  using namespace psflip::majority;
  Session session;
  psflip::CommandLine line("Times stage " + std::string(stage()) + " of the 2D majority model.", "majority_benchmark");
  add_options(line, session.options);
  return psflip::run_benchmarks(line, argc, argv, [&session] {
    session.choice = psflip::choose_device(platforms(), session.options.device);
    session.start = random_lattice(session.options.size, session.options.seed);
    psflip::describe(stage(), session.choice.device);
    describe_problem(session.options);
    register_benchmarks(session);
  });
}
