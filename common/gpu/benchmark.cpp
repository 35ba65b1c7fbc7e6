#include "gpu/benchmark.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <utility>

#include "app/invalid_input.hpp"
#include "app/stopwatch.hpp"

namespace psflip {
namespace {

double host_copy_bandwidth(std::size_t bytes, int repetitions) {
  const std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes, 2);
  std::vector<double> seconds;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const Stopwatch watch;
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
    seconds.push_back(watch.seconds());
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

/// Bytes read and written a second.
double copy_bandwidth([[maybe_unused]] const DeviceReport& device, std::size_t bytes, int repetitions) {
#if PSFLIP_HAS_GPU
  if (device.platform == "gpu") return gpu::copy_bandwidth(device.index, bytes, repetitions);
#endif
#if PSFLIP_HAS_CPU
  if (device.platform == "cpu") return cpu::copy_bandwidth(device.index, bytes, repetitions);
#endif
  return host_copy_bandwidth(bytes, repetitions);
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

/// What add_context() said, in order.
std::vector<std::pair<std::string, std::string>> context;
bool table_for_people = true;
bool something_failed = false;

/// Why a run was given up, or nothing. Google Benchmark 1.8 gave the member another name.
template <class Run>
std::string reason(const Run& run) {
  if constexpr (requires { run.error_message; }) {
    return run.error_message;
  } else {
    return run.skip_message;
  }
}

/// "ms_per_step" is "ms/step".
std::string unit(std::string counter) {
  const std::size_t per = counter.find("_per_");
  counter.replace(per, 5, "/");
  if (counter.starts_with("gb/")) counter.replace(0, 2, "GB");
  return counter;
}

/// A line for each benchmark, with the medians of its speeds. Google Benchmark's own table has one for each repetition,
/// and says of a library without NDEBUG, as distributions have it, that timings suffer; ours come from the device.
class LineEach : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& google) override {
    width_ = google.name_field_width;
    for (const auto& [name, value] : context) {
      std::cout << (name == context.front().first ? "" : ", ") << name << ' ' << value;
    }
    std::cout << "\n\n";
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    std::map<std::string, std::vector<double>> speeds;
    std::string text = runs.front().run_name.function_name;
    text.resize(std::max(text.size(), std::min<std::size_t>(width_, 50)), ' ');
    std::string error;
    for (const Run& run : runs) {
      if (!reason(run).empty()) error = reason(run);
      if (run.run_type != Run::RT_Iteration) continue;
      for (const auto& [name, counter] : run.counters) {
        if (name.find("_per_") != std::string::npos && name.find("bytes") == std::string::npos)
          speeds[name].push_back(counter.value);
      }
    }
    if (!error.empty()) {
      std::cout << text << "  " << error << '\n';
      return;
    }
    if (speeds.empty()) return;  // Google Benchmark's own means and medians
    for (auto& [name, values] : speeds) {
      std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
      const double median = values[values.size() / 2];
      char number[64];
      std::snprintf(number, sizeof number, median < 1000 ? "  %9.4g " : "  %9.0f ", median);
      text += number + unit(name);
    }
    std::cout << text << std::endl;  // at once: the next one may take long
  }

 private:
  std::size_t width_ = 0;
};

/// Registers a benchmark that reports what `measure` throws.
auto* add(const std::string& name, std::function<void(benchmark::State&)> measure) {
  const auto measure_or_report = [measure = std::move(measure)](benchmark::State& state) {
    try {
      measure(state);
    } catch (const InvalidInput& refused) {
      state.SkipWithError(refused.what());
    } catch (const std::exception& error) {
      fail(state, "failed: " + std::string(error.what()));
    }
  };
  return benchmark::RegisterBenchmark(name.c_str(), measure_or_report)->UseManualTime()->Unit(benchmark::kMillisecond);
}

/// CLI11 took its own options; Google Benchmark takes its own out of the rest. Throws InvalidInput if any are left.
void initialise_google_benchmark(const CommandLine& line) {
  static std::string name;  // static: Google Benchmark keeps the pointer
  name = line.program();
  std::vector<std::string> rest = line.remaining();
  table_for_people = std::ranges::none_of(
      rest, [](const std::string& argument) { return argument.starts_with("--benchmark_format"); });
  std::vector<char*> arguments{name.data()};
  for (std::string& argument : rest) arguments.push_back(argument.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (count > 1) throw InvalidInput(std::string("unknown option ") + arguments[1] + "; --help lists those there are");
}

}  // namespace

void fail(benchmark::State& state, const std::string& message) {
  something_failed = true;
  state.SkipWithError(message.c_str());
}

bool Verdict::agrees(benchmark::State& state, const std::string& hash, const std::string& when) {
  if (expected.empty()) expected = hash;
  if (hash == expected) return true;
  fail(state, "wrong bits " + when + " timing: hash " + hash + ", expected " + expected);
  return false;
}

void register_benchmark(const std::string& name, int repetitions, double min_time,
                        std::function<void(benchmark::State&)> measure) {
  auto* const added = add(name, std::move(measure))->Repetitions(repetitions);
  min_time > 0 ? added->MinTime(min_time) : added->Iterations(1);
}

void declare(CommandLine& line, EngineOptions& options) {
  line.option("--min-time", options.min_time, "Device seconds of a repetition at least, by repeating its run")
      .check(number(0));
  line.option("--expect", options.expect, "Hash that the state must have after a run");
  line.flag("--unchecked", options.unchecked, "To choose between launches only: never restart, check no bits");
  add_common_options(line, options.repetitions, options.device);
}

namespace {

/// Has the engine at work, warm, its bits checked once. False if they are wrong.
bool prepare(benchmark::State& state, const std::string& name, const EngineOptions& options, bool is_reference,
             EngineAtWork& at_work, const std::function<std::unique_ptr<TimedEngine>()>& make) {
  if (at_work.engine && at_work.name == name) return true;
  at_work.engine.reset();
  at_work = {make(), name};
  if (is_reference) return true;
  at_work.engine->run();
  if (!options.unchecked && !at_work.engine->agrees(state, "before")) at_work.engine.reset();
  return at_work.engine != nullptr;
}

}  // namespace

void register_engine(const std::string& name, const EngineOptions& options, bool is_reference, EngineAtWork& at_work,
                     Verdict& verdict, std::function<std::unique_ptr<TimedEngine>()> make) {
  verdict.expected = options.expect;
  const auto measure = [=, &options, &at_work, make = std::move(make)](benchmark::State& state) {
    if (!prepare(state, name, options, is_reference, at_work, make)) return;
    TimedEngine& engine = *at_work.engine;
    const double seconds = time_iterations(state, [&] {
      if (!options.unchecked) engine.restart();
      return engine.run();
    });
    if (options.unchecked || engine.agrees(state, "after")) engine.report(state, seconds);
  };
  register_benchmark(name, options.repetitions, options.min_time, measure);
}

void register_copy_benchmark(const DeviceReport& device, std::size_t bytes, std::function<void()> before) {
  const auto measure = [device, bytes, before = std::move(before)](benchmark::State& state) {
    before();
    const std::size_t beyond_caches = std::size_t{device.platform == "gpu" ? 1024U : 64U} << 20;
    // Two buffers of a quarter each leave room for whoever else uses the device.
    const std::size_t copied = std::min(std::max(bytes, beyond_caches), free_memory(device) / 4);
    const double bytes_per_second = copy_bandwidth(device, copied, 20);
    for ([[maybe_unused]] auto iteration : state) {
      state.SetIterationTime(2 * static_cast<double>(copied) / bytes_per_second);
    }
    state.counters["bytes"] = static_cast<double>(copied);
    state.counters["gb_per_s"] = bytes_per_second * 1e-9;
  };
  add("copy", measure)->Iterations(1);
}

void add_context(const std::string& name, const std::string& value) {
  benchmark::AddCustomContext("psflip_" + name, value);
  context.emplace_back(name, value);
}

void describe(std::string_view stage, const DeviceReport& device) {
  add_context("stage", std::string(stage));
  add_context("platform", device.platform);
  add_context("device", device.name);
  add_context("build_type", build_type());
}

void add_common_options(CommandLine& line, int& repetitions, std::string& device) {
  line.option("--repetitions", repetitions, "Timed runs of each variant (" + std::to_string(repetitions) + ")")
      .check(whole_number(1));
  line.option("--device", device, "auto, cpu, gpu, or the number of a GPU");
  line.footer("Options of Google Benchmark (--benchmark_format=json, --benchmark_filter=...) work too.");
  line.allow_extras();
}

int run_benchmarks(CommandLine& line, int argc, const char* const* argv, const std::function<void()>& prepare) {
  const int code = run_program(line, argc, argv, [&] {
    initialise_google_benchmark(line);
    prepare();
    LineEach lines;
    benchmark::RunSpecifiedBenchmarks(table_for_people ? &lines : nullptr);
  });
  return code == 0 && something_failed ? 1 : code;
}

}  // namespace psflip
