/// What the benchmark programs of all models share, around Google Benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.hpp"
#include "gpu/device.hpp"

namespace psflip {

/// What the benchmarks of a process agree on: the bits that every launch must reach, and whether something went wrong.
struct Verdict {
  std::string expected;  ///< hash of the state after the timed steps; empty until one is known
  bool failed = false;   ///< wrong bits or a failing device: the program's exit code is 1

  /// Whether the hash is the expected one. If not, skips the benchmark with an error. `when` is "before" or "after".
  bool agrees(benchmark::State& state, const std::string& hash, const std::string& when);
};

/// Calls `measure`, and turns what it throws into the benchmark's error: InvalidInput is a launch that cannot be done,
/// and no failure of the program, since a sweep asks for more launches than a device can do; all else is one.
void measure_or_report(benchmark::State& state, Verdict& verdict, const std::function<void()>& measure);

/// Registers a benchmark whose measure() sets the time of each iteration. min_time = 0: one iteration a repetition.
void register_benchmark(const std::string& name, int repetitions, double min_time,
                        std::function<void(benchmark::State&)> measure);

/// Registers the benchmark "copy": gb_per_s, at which the device copies its own memory, read plus written. It copies
/// `bytes`, or more where they would fit into a cache, or less where they would not fit into the memory. `before` runs
/// first, to free the memory that engines hold.
void register_copy_benchmark(const DeviceReport& device, std::size_t bytes, Verdict& verdict,
                             std::function<void()> before);

/// Says something about the whole run, above its results: "size", "200". In JSON it is called psflip_size.
void add_context(const std::string& name, const std::string& value);

/// Adds what every model has to say about itself.
void describe(std::string_view stage, const DeviceReport& device);

/// CLI11 took its own options; Google Benchmark takes its own out of the rest. Throws InvalidInput if any are left.
/// The command line must allow_extras().
void initialise_google_benchmark(const CommandLine& line);

/// Runs what was registered and prints a line for each benchmark, with medians over its repetitions; with
/// --benchmark_format=json or another, what Google Benchmark prints. After initialise_google_benchmark().
void run_benchmarks();

/// What is asked for, or once "the stage chooses".
template <class T>
std::vector<std::optional<T>> or_default(const std::vector<T>& wished) {
  if (wished.empty()) return {std::nullopt};
  return {wished.begin(), wished.end()};
}

}  // namespace psflip
