/// One stage's speed: time a step for every launch shape asked for, and the copy bandwidth to measure it by.
///
/// Time is the device's own (Simulation::advance), for K steps from the same start, and the state that the last timed
/// steps left is checked: a kernel that is fast because it is wrong ends as an error, not as a figure.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
#include "app/state_hash.hpp"
#include "majority/lattice.hpp"
#include "majority/platforms.hpp"
#include "majority/simulation.hpp"

namespace psflip::majority {
namespace {

struct Options {
  std::int64_t size = 1000;
  std::int64_t steps = 10;
  std::uint32_t seed = 42;
  std::vector<std::string> storages{"int32"};
  std::vector<int> thread_widths;
  std::vector<int> blocks;
  int repetitions = 5;
  double min_time = 0;
  std::string device = "auto";
  std::string expect;
  bool unchecked = false;
};

Storage storage_called(const std::string& name) { return name == "int8" ? Storage::int8 : Storage::int32; }

/// What all benchmarks of this process share.
struct Session {
  Options options;
  Choice choice;
  Lattice start;
  std::string expected;  ///< hash of the state K steps after the start; empty until one is known
  bool failed = false;

  // Repetitions of a benchmark are separate calls and share one engine; two engines need not fit into the memory.
  std::unique_ptr<Simulation> simulation;
  std::string simulation_name;
};

/// Skips the benchmark, and makes the program fail, unless the state has the expected bits.
bool bits_agree(benchmark::State& state, Session& session, const std::string& when) {
  const std::string found = hex(state_hash(session.simulation->spins()));
  if (session.expected.empty()) session.expected = found;
  if (found == session.expected) return true;
  session.failed = true;
  state.SkipWithError(("wrong bits " + when + " timing: hash " + found + ", expected " + session.expected).c_str());
  return false;
}

/// The engine for this launch, warm, its bits checked once. Null if they are wrong.
Simulation* prepare(benchmark::State& state, Session& session, const std::string& name, Launch launch) {
  if (session.simulation && session.simulation_name == name) return session.simulation.get();
  session.simulation.reset();
  launch.device = session.choice.device.index;
  session.simulation = session.choice.platform->make_simulation(session.options.size, launch);
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
  // Each spin is read once and written once: the least that any version can move.
  const double bytes_per_site = 2 * (launch.storage == Storage::int8 ? 1 : 4);
  state.counters["ms_per_step"] = seconds / steps * 1e3;
  state.counters["ps_per_site"] = seconds / steps / sites * 1e12;
  state.counters["bytes_per_site"] = bytes_per_site;
  state.counters["gb_per_s"] = bytes_per_site * sites * steps / seconds * 1e-9;
  if (launch.thread_width) state.counters["thread_width"] = *launch.thread_width;
  if (launch.block) state.counters["block"] = *launch.block;
  if (!session.options.unchecked) state.SetLabel(session.expected);
}

void measure(benchmark::State& state, Session& session, const std::string& name, const Launch& launch) {
  try {
    Simulation* simulation = prepare(state, session, name, launch);
    if (!simulation) return;
    double seconds = 0;
    for ([[maybe_unused]] auto iteration : state) {
      if (!session.options.unchecked) simulation->set_spins(session.start);
      const double taken = simulation->advance(session.options.steps);
      state.SetIterationTime(taken);
      seconds += taken;
    }
    if (!session.options.unchecked && !bits_agree(state, session, "after")) return;
    report(state, session, simulation->launch(), seconds);
  } catch (const InvalidInput& refused) {
    state.SkipWithError(refused.what());  // not a failure: a sweep asks for more shapes than a device can do
  } catch (const std::exception& error) {
    session.failed = true;
    state.SkipWithError(("failed: " + std::string(error.what())).c_str());
  }
}

double host_copy_bandwidth(std::size_t bytes, int repetitions) {
  const std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes, 2);
  std::vector<double> seconds;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + repetitions / 2, seconds.end());
  return 2 * static_cast<double>(bytes) / seconds[static_cast<std::size_t>(repetitions / 2)];
}

std::size_t free_memory([[maybe_unused]] const DeviceReport& device) {
#if PSFLIP_HAS_GPU
  if (device.platform == "gpu") return gpu::free_memory(device.index);
#endif
#if PSFLIP_HAS_CPU
  if (device.platform == "cpu") return cpu::free_memory(device.index);
#endif
  return static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE));
}

/// Bytes read and written a second when the device copies its own memory.
double copy_bandwidth([[maybe_unused]] const DeviceReport& device, std::size_t bytes, int repetitions) {
#if PSFLIP_HAS_GPU
  if (device.platform == "gpu") return gpu::copy_bandwidth(device.index, bytes, repetitions);
#endif
#if PSFLIP_HAS_CPU
  if (device.platform == "cpu") return cpu::copy_bandwidth(device.index, bytes, repetitions);
#endif
  return host_copy_bandwidth(bytes, repetitions);
}

void measure_copy(benchmark::State& state, Session& session) {
  try {
    session.simulation.reset();
    const DeviceReport& device = session.choice.device;
    const std::size_t size = static_cast<std::size_t>(session.options.size);
    const std::size_t widest = std::ranges::count(session.options.storages, "int32") ? 4 : 1;
    const std::size_t beyond_caches = std::size_t{device.platform == "gpu" ? 1024U : 64U} << 20;
    // Two buffers of a quarter each leave room for whoever else uses the device.
    const std::size_t bytes = std::min(std::max(size * size * widest, beyond_caches), free_memory(device) / 4);
    const double bytes_per_second = copy_bandwidth(device, bytes, 20);
    for ([[maybe_unused]] auto iteration : state) {
      state.SetIterationTime(2 * static_cast<double>(bytes) / bytes_per_second);
    }
    state.counters["bytes"] = static_cast<double>(bytes);
    state.counters["gb_per_s"] = bytes_per_second * 1e-9;
  } catch (const std::exception& error) {
    session.failed = true;
    state.SkipWithError(("failed: " + std::string(error.what())).c_str());
  }
}

/// What is asked for, or "the stage chooses".
std::vector<std::optional<int>> or_default(const std::vector<int>& wished) {
  if (wished.empty()) return {std::nullopt};
  return {wished.begin(), wished.end()};
}

void register_benchmarks(Session& session) {
  const Options& options = session.options;
  for (const std::string& storage : options.storages) {
    for (const auto thread_width : or_default(options.thread_widths)) {
      for (const auto block : or_default(options.blocks)) {
        std::string name = "majority/storage:" + storage;
        if (thread_width) name += "/thread_width:" + std::to_string(*thread_width);
        if (block) name += "/block:" + std::to_string(*block);
        const Launch launch{.storage = storage_called(storage), .thread_width = thread_width, .block = block};
        auto* registered = benchmark::RegisterBenchmark(
            name.c_str(), [&session, name, launch](benchmark::State& state) { measure(state, session, name, launch); });
        registered->UseManualTime()->Unit(benchmark::kMillisecond)->Repetitions(options.repetitions);
        if (options.min_time > 0) {
          registered->MinTime(options.min_time);
        } else {
          registered->Iterations(1);
        }
      }
    }
  }
  benchmark::RegisterBenchmark("copy", [&session](benchmark::State& state) { measure_copy(state, session); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
}

std::string build_type() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "sanitizer";
#elif defined(NDEBUG)
  return "release";
#else
  return "debug";
#endif
}

void describe(const Session& session) {
  benchmark::AddCustomContext("psflip_stage", std::string(stage()));
  benchmark::AddCustomContext("psflip_platform", session.choice.platform->name);
  benchmark::AddCustomContext("psflip_device", session.choice.device.name);
  benchmark::AddCustomContext("psflip_size", std::to_string(session.options.size));
  benchmark::AddCustomContext("psflip_steps", std::to_string(session.options.steps));
  benchmark::AddCustomContext("psflip_seed", std::to_string(session.options.seed));
  benchmark::AddCustomContext("psflip_build_type", build_type());
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--size", options.size, "Spins along each side")->check(whole_number(1));
  app.add_option("--steps", options.steps, "Updates of the whole lattice in one timed run")->check(whole_number(1));
  app.add_option("--seed", options.seed, "Seed of the random start")->check(whole_number(0, UINT32_MAX));
  app.add_option("--storage", options.storages, "How the device stores a spin: int32, int8 or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"int32", "int8"}).description(""));
  app.add_option("--thread-width", options.thread_widths, "Threads along each side of a thread block")->delimiter(',');
  app.add_option("--block", options.blocks, "Spins along each side of the square of one thread")->delimiter(',');
  app.add_option("--repetitions", options.repetitions, "Timed runs of each launch shape")->check(whole_number(1));
  app.add_option("--min-time", options.min_time, "Device seconds of a repetition at least, by repeating its run")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--device", options.device, "auto, cpu, gpu, or the number of a GPU");
  app.add_option("--expect", options.expect, "Hash that the state must have after the steps");
  app.add_flag("--unchecked", options.unchecked, "To choose between shapes only: never restart, check no bits");
  app.footer("Options of Google Benchmark (--benchmark_format=json, --benchmark_filter=...) work too.");
  app.allow_extras();
}

/// CLI11 took its own options; Google Benchmark takes its own out of the rest. Throws if any are left.
void initialise_google_benchmark(const CLI::App& app) {
  static char name[] = "majority_benchmark";  // static: Google Benchmark keeps the pointer
  std::vector<std::string> rest = app.remaining();
  std::vector<char*> arguments{name};
  for (std::string& argument : rest) arguments.push_back(argument.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (count > 1) throw InvalidInput(std::string("unknown option ") + arguments[1] + "; --help lists those there are");
}

}  // namespace
}  // namespace psflip::majority

int main(int argc, char** argv) {
  using namespace psflip::majority;
  Session session;
  CLI::App app("Times stage " + std::string(stage()) + " of the 2D majority model.", "majority_benchmark");
  add_options(app, session.options);
  const int code = psflip::run_program(app, argc, argv, [&app, &session] {
    initialise_google_benchmark(app);
    session.expected = session.options.expect;
    session.choice = choose_device(session.options.device);
    session.start = random_lattice(session.options.size, session.options.seed);
    describe(session);
    register_benchmarks(session);
    benchmark::RunSpecifiedBenchmarks();
  });
  return code == 0 && session.failed ? 1 : code;
}
