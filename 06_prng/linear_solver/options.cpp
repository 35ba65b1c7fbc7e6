#include "06_prng/linear_solver/options.hpp"

#include <string_view>
#include <utility>

#include "06_prng/linear_solver/systems/matrix_market.hpp"
#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
#include "app/text.hpp"

namespace psflip::linear {
namespace {

/// "12,0.5" of "lap1d:12,0.5": the two parameters after the colon. Throws InvalidInput if they are none.
template <class First, class Second>
std::pair<First, Second> parameters(const std::string& matrix, const std::string& form) {
  const std::string_view text = std::string_view(matrix).substr(matrix.find(':') + 1);
  const std::size_t comma = text.find(',');
  const auto first = number_in<First>(text.substr(0, comma));
  const auto second = number_in<Second>(comma < text.size() ? text.substr(comma + 1) : "");
  if (!first || !second) throw InvalidInput("--matrix " + matrix + ": it must have the form " + form);
  return {*first, *second};
}

Csr make_matrix(const std::string& name) {
  if (name.starts_with("lap1d:")) {
    const auto [n, shift] = parameters<std::int64_t, double>(name, "lap1d:N,s, N a whole number and s a finite one");
    return lap1d(n, shift);
  }
  if (name.starts_with("lap2d:")) {
    const auto [nx, ny] = parameters<std::int64_t, std::int64_t>(name, "lap2d:nx,ny, both whole numbers");
    return lap2d(nx, ny);
  }
  if (name == "diffusion2g") return diffusion2g();
  return read_matrix(name);
}

}  // namespace

void declare(CommandLine& line, Options& options) {
  Request& request = options.request;
  const auto number = [&](const std::string& name, auto& value, const std::string& type, const std::string& help) {
    return line.option(name, value, help).type(type);
  };
  const auto declare_names = [&]<class T>(const std::string& name, T& value, const std::string& help) {
    line.option(name, value, help + " (" + std::string(psflip::name(value)) + ").").type(joined(names<T>(), "|"));
  };
  number("--matrix", options.matrix, "M",
         "lap1d:N,s (Laplacian in one dimension, shifted by s), lap2d:nx,ny (in two), diffusion2g (two groups of "
         "neutrons), or a Matrix Market file.")
      .required();
  number("--rhs", options.rhs, "ones|sin|FILE",
         "Right-hand side: 1 everywhere, sin(pi i / (N - 1)), or a Matrix Market file in array format (sin with lap1d, "
         "else ones).");
  declare_names("--method", request.method, "Walks through H^T that add to all of x, or through H, for one entry");
  declare_names("--estimator", request.estimator, "What a step adds: the weight, or the next step's mean");
  number("--histories", request.histories, "M", "Walks; with --method forward, for each entry of x (10000).")
      .check(whole_number(1, 1'000'000'000'000'000));
  number("--max-steps", request.max_steps, "L", "A walk ends after so many steps (100000),").check(whole_number(0));
  number("--cutoff", request.cutoff, "c", "or when its weight is below c of what it began with; 0: never (1e-9).");
  declare_names("--generator", request.generator, "Random numbers: Philox4x32-10, or cuRAND's XORWOW");
  declare_names("--seeding", request.seeding,
                "XORWOW's streams: one seed and subsequences; seeds S, S + 1, ...; random 32 bits; hashed 64 bits");
  number("--discard", request.discard, "k", "First numbers of each stream that are thrown away (0).")
      .check(whole_number(0, 1'000'000));
  number("--batch", request.batch, "1|5", "Numbers of a stream made at a time (1).").check(whole_number(1, 5));
  declare_names("--load", request.load, "How the matrix is read");
  declare_names("--layout", request.layout, "H, P, W and columns apart, or entry by entry");
  declare_names("--map", request.map, "Forward walks: a thread per entry, or a thread per walk");
  number("--threads", request.threads, "T", "Threads of a block (256).").check(whole_number(1, 1024));
  number("--per-thread", request.per_thread, "K", "Walks of a thread, one after the other (1).")
      .check(whole_number(1, 1 << 20));
  number("--groups", request.groups, "G", "Parts of the walks that the standard error is made from (16).")
      .check(whole_number(1, 1 << 20));
  number("--seed", request.seed, "S", "Seed of all streams (42).").check(whole_number(0));
  number("--repetitions", options.repetitions, "R", "Runs, of which the one with the median time counts (1).")
      .check(whole_number(1, 1000));
  number("--device", options.device, "D", "auto, cpu, gpu, or the number of a GPU (auto).");
  line.flag("--radii", options.radii, "Compute the spectral radii to ten digits, not just their side of 1.");
  line.flag("--allow-divergent", options.allow_divergent, "Walk even if a spectral radius is not less than 1.");
  line.flag("--compare", options.compare,
            "Also time the Neumann series and conjugate gradients up to the same error, on the CPU and the GPU.");
  line.flag("--csv", options.csv, "Print the result as CSV, a line a solver.");
  line.flag("--json", options.json, "Print the result as a JSON object.").excludes("--csv");
  number("--output", options.output, "FILE", "Write x, its standard error and the exact solution as CSV.");
}

std::string rhs_name(const Options& options) {
  return options.rhs.value_or(options.matrix.starts_with("lap1d:") ? "sin" : "ones");
}

System make_system(const Options& options) {
  System system{make_matrix(options.matrix), {}};
  const std::string rhs = rhs_name(options);
  system.b = rhs == "ones" ? ones(system.a.rows) : rhs == "sin" ? sine(system.a.rows) : read_vector(rhs, system.a.rows);
  return system;
}

}  // namespace psflip::linear
