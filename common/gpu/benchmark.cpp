#include "gpu/benchmark.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <utility>

#include "app/invalid_input.hpp"

namespace psflip {
namespace {

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

}  // namespace

bool Verdict::agrees(benchmark::State& state, const std::string& hash, const std::string& when) {
  if (expected.empty()) expected = hash;
  if (hash == expected) return true;
  failed = true;
  state.SkipWithError(("wrong bits " + when + " timing: hash " + hash + ", expected " + expected).c_str());
  return false;
}

void measure_or_report(benchmark::State& state, Verdict& verdict, const std::function<void()>& measure) {
  try {
    measure();
  } catch (const InvalidInput& refused) {
    state.SkipWithError(refused.what());
  } catch (const std::exception& error) {
    verdict.failed = true;
    state.SkipWithError(("failed: " + std::string(error.what())).c_str());
  }
}

void register_benchmark(const std::string& name, int repetitions, double min_time,
                        std::function<void(benchmark::State&)> measure) {
  auto* registered = benchmark::RegisterBenchmark(name.c_str(), std::move(measure));
  registered->UseManualTime()->Unit(benchmark::kMillisecond)->Repetitions(repetitions);
  if (min_time > 0) {
    registered->MinTime(min_time);
  } else {
    registered->Iterations(1);
  }
}

void register_copy_benchmark(const DeviceReport& device, std::size_t bytes, Verdict& verdict,
                             std::function<void()> before) {
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
  benchmark::RegisterBenchmark(
      "copy",
      [measure, &verdict](benchmark::State& state) { measure_or_report(state, verdict, [&] { measure(state); }); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
}

void describe(std::string_view stage, const DeviceReport& device) {
  benchmark::AddCustomContext("psflip_stage", std::string(stage));
  benchmark::AddCustomContext("psflip_platform", device.platform);
  benchmark::AddCustomContext("psflip_device", device.name);
  benchmark::AddCustomContext("psflip_build_type", build_type());
}

void initialise_google_benchmark(const CommandLine& line) {
  static std::string name;  // static: Google Benchmark keeps the pointer
  name = line.program();
  std::vector<std::string> rest = line.remaining();
  std::vector<char*> arguments{name.data()};
  for (std::string& argument : rest) arguments.push_back(argument.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (count > 1) throw InvalidInput(std::string("unknown option ") + arguments[1] + "; --help lists those there are");
}

}  // namespace psflip
