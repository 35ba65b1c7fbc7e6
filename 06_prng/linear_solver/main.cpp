/// Solves A x = b by Monte Carlo, and says how good the answer is and what it cost.

#include <algorithm>
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
#include "06_prng/linear_solver/walks/walks.hpp"
#include "app/command_line.hpp"
#include "app/files/file_names.hpp"
#include "app/files/output_file.hpp"
#include "app/invalid_input.hpp"
#include "app/progress.hpp"
#include "app/stopwatch.hpp"
#include "gpu/platforms.hpp"

namespace psflip::linear {
namespace {

const auto& platforms() {
  static const auto all = PSFLIP_PLATFORMS(walker);
  return all;
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
  const bool conjugate = symmetric(system.a);
  const auto race = [&](const std::string& platform, auto make_richardson, auto make_conjugate_gradients) {
    const auto add = [&](const std::string& solver, std::unique_ptr<Iteration> method) {
      const std::optional<TimeToError> time = time_to_error(*method, exact, result.error);
      result.rivals.push_back({solver, platform, time, time ? "" : "the error was not reached"});
    };
    add("richardson", make_richardson());
    if (conjugate) return add("conjugate-gradients", make_conjugate_gradients());
    result.rivals.push_back({"conjugate-gradients", platform, {}, "the matrix is not symmetric"});
  };
  race(
      "cpu", [&] { return make_richardson(scaled); }, [&] { return make_conjugate_gradients(system); });
#if PSFLIP_HAS_CUSPARSE
  const int device = result.device.index;
  if (result.device.platform == "gpu")
    race(
        "gpu", [&] { return gpu::make_richardson(scaled, device); },
        [&] { return gpu::make_conjugate_gradients(system, device); });
#endif
}

/// The run with the median time of as many as were asked for.
Outcome walk(Walk& on_device, const Tables& tables, const Scaled& scaled, const Options& options, int device) {
  Request request = options.request;
  request.histories = request.max_steps = 1;  // a device's first launch also loads the kernel
  on_device(tables, scaled, request, device);

  request = options.request;
  Progress progress(request.method == Method::forward ? "walks per entry" : "walks",
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
  if (options.output) refuse_twins({*options.output}, {options.matrix, options.rhs.value_or("")});
  const System system = make_system(options);
  const Stopwatch preparing;
  const Scaled scaled = linear::scaled(system);
  const bool forward = options.request.method == Method::forward;
  const Tables tables = linear::tables(forward ? scaled.h : transposed(scaled.h));
  Result result;
  result.tables_seconds = preparing.seconds();
  result.rows = system.a.rows;
  result.entries = system.a.begin.back();
  const ChosenDevice<const Walker> choice = choose_device(platforms(), options.device);
  const Walker& walker = *choice.platform->make;
  result.device = choice.device;
  std::optional<OutputFile> output;
  if (options.output) output.emplace(*options.output);
  const bool writes_standard_output = output && output->is_standard_output();
  if (writes_standard_output && (options.json || options.csv))
    throw InvalidInput("--output: standard output takes the solution or the result, not both");

  result.radius = checked_radius(scaled.h, options, "rho(H)", "the series x = b + H b + H^2 b + ... diverges");
  result.second_moment =
      checked_radius(second_moment(tables.base), options, "rho(H^)", "the walks' variance is infinite");
  const Stopwatch solving;
  const std::vector<double> exact = solve_directly(system);
  result.direct_seconds = solving.seconds();

  const std::int64_t streams = std::clamp<std::int64_t>(options.request.histories, 1000, 10'000'000);
  result.pair_chi_squared = walker.pair_chi_squared(options.request, streams, choice.device.index);
  result.outcome = walk(*walker.walk, tables, scaled, options, choice.device.index);
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
