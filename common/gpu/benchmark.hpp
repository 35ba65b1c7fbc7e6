/// What the benchmark programs of all models share, around Google Benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.hpp"
#include "gpu/device.hpp"
#include "gpu/launch_fields.hpp"

namespace psflip {

/// Ends a benchmark with an error after which the program's exit code is 1: wrong bits, or a failing device.
void fail(benchmark::State& state, const std::string& message);

/// What benchmarks of a process agree on: the bits that every launch must reach.
struct Verdict {
  std::string expected;  ///< hash of the state after the timed steps; empty until one is known

  /// Whether the hash is the expected one. If not, fails. `when` is "before" or "after".
  bool agrees(benchmark::State& state, const std::string& hash, const std::string& when);
};

/// Runs the benchmark's iterations: run() returns the seconds that the device took. Returns their sum.
template <class Run>
double time_iterations(benchmark::State& state, Run run) {
  double sum = 0;
  for ([[maybe_unused]] auto iteration : state) {
    const double seconds = run();
    state.SetIterationTime(seconds);
    sum += seconds;
  }
  return sum;
}

/// Registers a benchmark whose measure() sets the time of each iteration. min_time = 0: one iteration a repetition.
/// What it throws becomes the benchmark's error: InvalidInput is a launch that cannot be done, and no failure of the
/// program, since a sweep asks for more launches than a device can do; all else is one.
void register_benchmark(const std::string& name, int repetitions, double min_time,
                        std::function<void(benchmark::State&)> measure);

/// What a benchmark of engines times.
class TimedEngine {
 public:
  virtual ~TimedEngine() = default;
  /// Back to the start, where a new one is.
  virtual void restart() = 0;
  /// Does what is timed; returns the device's seconds.
  virtual double run() = 0;
  /// Whether the state after one run has the right bits. If not, skips the benchmark with an error, as Verdict does.
  virtual bool agrees(benchmark::State& state, const std::string& when) = 0;
  /// Sets counters and label, after as many runs as the benchmark had iterations, in so many seconds.
  virtual void report(benchmark::State& state, double seconds) = 0;
};

/// What can be asked of a benchmark of engines.
struct EngineOptions {
  std::map<std::string, std::vector<std::string>> launches;  ///< values to time, by the names of launch_fields()
  int repetitions = 5;
  double min_time = 0;
  std::string device = "auto";
  std::string expect;      ///< hash of the state after a run
  bool unchecked = false;  ///< for a choice between launches: never restart, check no bits
};

/// Makes all but the launch's options known to the command line, and lets it pass on those of Google Benchmark.
void declare(CommandLine& line, EngineOptions& options);
/// All.
template <class Launch>
void declare(CommandLine& line, EngineOptions& options) {
  for (const FieldOf<Launch>& field : launch_fields(Launch()))
    line.option(field.option, options.launches[field.name], field.help + ": those to time")
        .delimiter(',')
        .type(field.words.empty() ? "N" : joined(field.words, "|"))
        .check(field.words.empty() ? whole_number(1, std::numeric_limits<int>::max()) : one_of(field.words));
  declare(line, options);
}

/// Every combination of the values asked for; the first fields vary slowest.
template <class Launch>
std::vector<Launch> launches(const EngineOptions& options, int device) {
  std::vector<Launch> all{Launch{.device = device}};
  for (const FieldOf<Launch>& field : launch_fields(Launch())) {
    const auto asked = options.launches.find(field.name);
    if (asked == options.launches.end() || asked->second.empty()) continue;
    std::vector<Launch> more;
    for (const Launch& launch : all)
      for (const std::string& value : asked->second) field.set(more.emplace_back(launch), value);
    all = std::move(more);
  }
  return all;
}

/// "/indexing:sliced/threads:256", what is left empty left out; or with another sign before each.
template <class Launch>
std::string words(const Launch& launch, char before = '/') {
  std::string text;
  for (const FieldOf<Launch>& field : launch_fields(launch))
    if (const auto value = field.get(launch)) text += before + field.name + ":" + *value;
  return text;
}

/// The engine that is being timed. Repetitions of a benchmark are separate calls and share one; two engines need not
/// fit into the memory.
struct EngineAtWork {
  std::unique_ptr<TimedEngine> engine;
  std::string name;
};

/// Registers a benchmark of the engine that `make` makes. It is warm before it is timed, and its bits are checked
/// before and after: an engine that is fast because it is wrong ends as an error, not as a figure. The reference has
/// nothing to warm up, and at the sizes that a GPU needs it runs for ten seconds: it is checked after only.
void register_engine(const std::string& name, const EngineOptions& options, bool is_reference, EngineAtWork& at_work,
                     Verdict& verdict, std::function<std::unique_ptr<TimedEngine>()> make);

/// Registers the benchmark "copy": gb_per_s, at which the device copies its own memory, read plus written. It copies
/// `bytes`, or more where they would fit into a cache, or less where they would not fit into the memory. `before` runs
/// first, to free the memory that engines hold.
void register_copy_benchmark(const DeviceReport& device, std::size_t bytes, std::function<void()> before);

/// Says something about the whole run, above its results: "size", "200". In JSON it is called psflip_size.
void add_context(const std::string& name, const std::string& value);

/// Adds what every model has to say about itself.
void describe(std::string_view stage, const DeviceReport& device);

/// The options that all benchmark programs have, after their own: --repetitions, --device, and those of Google
/// Benchmark.
void add_common_options(CommandLine& line, int& repetitions, std::string& device);

/// A benchmark program from its command line to its exit code: 1 after a fail(). `prepare` chooses the device,
/// describes the run and registers the benchmarks. Each prints a line, with medians over its repetitions; with
/// --benchmark_format=json or another, what Google Benchmark prints.
int run_benchmarks(CommandLine& line, int argc, const char* const* argv, const std::function<void()>& prepare);

}  // namespace psflip
