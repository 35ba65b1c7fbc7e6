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

/// What is asked for, or once "the stage chooses".
template <class T>
std::vector<std::optional<T>> or_default(const std::vector<T>& wished) {
  if (wished.empty()) return {std::nullopt};
  return {wished.begin(), wished.end()};
}

}  // namespace psflip
