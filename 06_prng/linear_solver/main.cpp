/// Solves A x = b by Monte Carlo, and says how good the answer is and what it cost.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "06_prng/linear_solver/options.hpp"
#include "06_prng/linear_solver/report.hpp"
#include "06_prng/linear_solver/systems/radius.hpp"
#include "06_prng/linear_solver/systems/solve.hpp"
#include "06_prng/linear_solver/walks/seeding.hpp"
#include "06_prng/linear_solver/walks/walks.hpp"
#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
#include "app/output_file.hpp"
#include "app/progress.hpp"
#include "gpu/platforms.hpp"

namespace psflip::linear {
namespace {

using Walk = Outcome(const Tables&, const Scaled&, const Request&, int device);
using Platform = psflip::Platform<Walk>;

/// Best first: the GPU before the CPU.
const std::vector<Platform>& platforms() {
  static const std::vector<Platform> all = {
#if PSFLIP_HAS_GPU
    {"gpu", gpu::devices, gpu::walk},
#endif
#if PSFLIP_HAS_CPU
    {"cpu", cpu::devices, cpu::walk},
#endif
  };
  return all;
}

using PairChiSquared = double(const Request&, std::int64_t streams, int device);

PairChiSquared* pair_chi_squared(const std::string& platform) {
#if PSFLIP_HAS_GPU
  if (platform == "gpu") return gpu::pair_chi_squared;
#endif
#if PSFLIP_HAS_CPU
  if (platform == "cpu") return cpu::pair_chi_squared;
#endif
  return nullptr;  // not reached: there are no other platforms
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Radius checked_radius(const Csr& matrix, const Options& options, const std::string& what, const std::string& means) {
  Radius radius = spectral_radius(matrix, options.radii ? Accuracy::full : Accuracy::side_of_one);
  if (radius.upper < 1) return radius;
  radius = spectral_radius(matrix, Accuracy::full);
  if (radius.upper < 1 || options.allow_divergent) return radius;
  char bounds[100];
  if (radius.lower == 0)
    std::snprintf(bounds, sizeof bounds, "may be as large as %.8g", radius.upper);
  else
    std::snprintf(bounds, sizeof bounds, "is %.8g", radius.value());
  throw InvalidInput(what + ", the spectral radius, " + bounds + ": " + means +
                     "; it must be less than 1 (--allow-divergent walks nevertheless)");
}

void add_rivals(const System& system, const Scaled& scaled, const std::vector<double>& exact, Result& result) {
  const auto race = [&](const std::string& solver, const std::string& platform, Iteration& method) {
    const std::optional<TimeToError> time = time_to_error(method, exact, result.error);
    result.rivals.push_back({solver, platform, time, time ? "" : "the error was not reached"});
  };
  const bool conjugate = symmetric(system.a);
  const std::string richardson = "richardson", gradients = "conjugate-gradients", why = "the matrix is not symmetric";
  race(richardson, "cpu", *make_richardson(scaled));
  if (conjugate) {
    race(gradients, "cpu", *make_conjugate_gradients(system));
  } else {
    result.rivals.push_back({gradients, "cpu", {}, why});
  }
#if PSFLIP_HAS_CUSPARSE
  if (result.device.platform == "gpu") {
    race(richardson, "gpu", *gpu::make_richardson(scaled, result.device.index));
    if (conjugate) {
      race(gradients, "gpu", *gpu::make_conjugate_gradients(system, result.device.index));
    } else {
      result.rivals.push_back({gradients, "gpu", {}, why});
    }
  }
#endif
}

/// The run with the median time of as many as were asked for.
Outcome walk(Walk& on_device, const Tables& tables, const Scaled& scaled, const Options& options, int device) {
  Request request = options.request;
  request.histories = request.max_steps = 1;  // a device's first launch also loads the kernel
  on_device(tables, scaled, request, device);

  request = options.request;
  Progress progress(request.method == Method::forward ? "walks an entry" : "walks",
                    options.repetitions * request.histories);
  std::vector<Outcome> runs;
  request.progress = [&](std::int64_t histories) {
    progress.at(static_cast<std::int64_t>(runs.size()) * request.histories + histories);
  };
  while (static_cast<int>(runs.size()) < options.repetitions) {
    runs.push_back(on_device(tables, scaled, request, device));
  }
  const auto seconds = [](const Outcome& run) { return run.generator_seconds + run.kernel_seconds; };
  const auto median = runs.begin() + (options.repetitions - 1) / 2;
  std::ranges::nth_element(runs, median, {}, seconds);
  return std::move(*median);
}

void write_solution(OutputFile& file, const Outcome& outcome, const std::vector<double>& exact) {
  std::fputs("entry,x,standard_error,exact\n", file.stream());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    std::fprintf(file.stream(), "%zu,%.17g,%.6g,%.17g\n", i + 1, outcome.x[i], outcome.standard_error[i], exact[i]);
  }
  file.commit();
}

void work(const Options& options) {
  const System system = make_system(options);
  const auto begin = std::chrono::steady_clock::now();
  const Scaled scaled = linear::scaled(system);
  const bool forward = options.request.method == Method::forward;
  const Tables tables = linear::tables(forward ? scaled.h : transposed(scaled.h));
  Result result;
  result.tables_seconds = seconds_since(begin);
  result.rows = system.a.rows;
  result.entries = system.a.begin.back();
  const Choice<Walk> choice = choose_device(platforms(), options.device);
  result.device = choice.device;
  std::optional<OutputFile> output;
  if (options.output) output.emplace(*options.output);
  const bool writes_standard_output = output && output->is_standard_output();
  if (writes_standard_output && (options.json || options.csv))
    throw InvalidInput("--output: standard output takes the solution or the result, not both");

  result.radius = checked_radius(scaled.h, options, "rho(H)", "the series x = b + H b + H^2 b + ... diverges");
  result.second_moment =
      checked_radius(second_moment(tables.base), options, "rho(H^)", "the walks' variance is infinite");
  const auto before_solution = std::chrono::steady_clock::now();
  const std::vector<double> exact = solve_directly(system);
  result.direct_seconds = seconds_since(before_solution);

  const std::int64_t streams = std::clamp<std::int64_t>(options.request.histories, 1000, 10'000'000);
  result.pair_chi_squared = pair_chi_squared(choice.platform->name)(options.request, streams, choice.device.index);
  result.outcome = walk(*choice.platform->make_simulation, tables, scaled, options, choice.device.index);
  result.residual = residual(scaled, result.outcome.x);
  result.error = relative_error(result.outcome.x, exact);
  result.expected_error = norm(result.outcome.standard_error) / norm(exact);
  if (options.compare) add_rivals(system, scaled, exact, result);

  if (output) write_solution(*output, result.outcome, exact);
  std::ostream& out = writes_standard_output ? std::cerr : std::cout;
  if (options.json) return print_json(out, options, result);
  if (options.csv) return print_csv(out, result);
  print_text(out, options, result);
}

}  // namespace
}  // namespace psflip::linear

int main(int argc, char** argv) {
  using namespace psflip;
  CommandLine line(
      "Solves a system of linear equations, A x = b, by random walks (Neumann, Ulam), and compares the answer with "
      "the\n"
      "exact one.",
      "linear_solver");
  linear::Options options;
  linear::declare(line, options);
  line.footer("For instance: linear_solver --matrix lap2d:30,30 --histories 1000000 --compare");
  return run_program(line, argc, argv, [&] { linear::work(options); });
}
