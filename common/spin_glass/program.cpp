#include "spin_glass/program.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command_line.hpp"
#include "app/host.hpp"
#include "app/invalid_input.hpp"
#include "app/progress.hpp"
#include "app/state_hash.hpp"
#include "spin_glass/averages.hpp"
#include "spin_glass/edge_list.hpp"
#include "spin_glass/observables.hpp"
#include "spin_glass/platforms.hpp"
#include "spin_glass/report.hpp"
#include "spin_glass/result_table.hpp"
#include "spin_glass/run.hpp"
#include "spin_glass/run_files.hpp"
#include "spin_glass/schedule.hpp"

namespace psflip::spin_glass {
namespace {

using AllCouplings = std::vector<std::vector<Coupling>>;  // [sample][3 s + d]

struct Options {
  std::optional<std::int64_t> size;
  std::optional<double> temperature;
  std::optional<double> beta;
  std::int64_t sweeps = 100;
  std::optional<std::int64_t> samples;
  std::int64_t replicas = 4;
  std::int64_t samples_per_stream = 32;
  std::string generator = "minstd";
  std::int64_t seed = 42;
  std::string start = "random";
  double ferromagnetic_fraction = 0.5;
  std::vector<std::string> couplings;
  std::vector<std::string> write_couplings;
  std::string measure = "end";
  std::optional<std::string> output;
  std::optional<std::string> averages;
  std::string device = "auto";
  std::optional<std::string> indexing;
  std::optional<std::string> load;
  std::optional<int> threads;
  std::optional<int> sites_per_thread;
  std::optional<std::string> kernel;
  std::optional<int> samples_per_word;
  bool json = false;
};

constexpr std::array starts{Start::random, Start::ordered};
constexpr std::int64_t default_size = 16;
constexpr double default_temperature = 1.1;                 ///< about the critical one
constexpr std::int64_t most_sweeps = 100'000'000'000;       ///< so that their product with the replicas is no overflow
constexpr std::int64_t most_samples_or_replicas = 1 << 24;  ///< as check() has it

template <class Values>
std::vector<std::string> names(const Values& values) {
  std::vector<std::string> result;
  for (const auto value : values) {
    result.emplace_back(name(value));
  }
  return result;
}

template <class Values>
std::vector<std::string> names_or_auto(const Values& values) {
  std::vector<std::string> result = names(values);
  result.emplace_back("auto");
  return result;
}

/// The one of `values` that has the name.
template <class Values>
auto named(const Values& values, std::string_view wanted) {
  return *std::ranges::find_if(values, [&](auto value) { return name(value) == wanted; });
}

/// "standard|bitwise|..."
template <class Values>
std::string alternatives(const Values& values) {
  std::string result;
  for (const auto value : values) {
    result += result.empty() ? "" : "|";
    result += name(value);
  }
  return result;
}

void declare(CLI::App& app, Options& options) {
  const auto text = [&](const std::string& name, auto& value, const std::string& type, const std::string& help) {
    return app.add_option(name, value, help)->type_name(type);
  };
  // Not left to CLI11, whose conversion rounds twice, takes hexadecimal numbers and lets "nan" pass.
  const auto real = [&](const std::string& name, auto& value, const std::string& type, const std::string& help) {
    const auto read = [name, &value](const std::string& given) {
      double number = 0;
      const char* const end = given.data() + given.size();
      const auto [stop, error] = std::from_chars(given.data(), end, number);
      if (error != std::errc() || stop != end || !std::isfinite(number)) {
        throw CLI::ValidationError(name, given + " is not a finite decimal number");
      }
      value = number;
    };
    return app.add_option_function<std::string>(name, read, help)->type_name(type);
  };
  const auto one_of = [](const std::vector<std::string>& allowed) { return CLI::IsMember(allowed).description(""); };

  text("--size", options.size, "L", "Spins along each side of the lattice, even, from 4 (16, or what --couplings has).")
      ->check(whole_number(1));
  CLI::Option* temperature = real("--temperature", options.temperature, "T", "Temperature, J = kB = 1 (1.1).");
  real("--beta", options.beta, "B", "Inverse temperature, instead.")->excludes(temperature);
  text("--sweeps", options.sweeps, "N", "How often all spins are updated (100).")->check(whole_number(0, most_sweeps));
  text("--samples", options.samples, "M", "Realisations of the couplings (1, or as many as --couplings has files).")
      ->check(whole_number(1, most_samples_or_replicas));
  text("--replicas", options.replicas, "R", "Copies of each sample, with starts and random numbers of their own (4).")
      ->check(whole_number(1, most_samples_or_replicas));
  text("--samples-per-stream", options.samples_per_stream, "W",
       "So many samples share their random numbers; errors are over groups of them (32).")
      ->check(whole_number(1, most_samples_or_replicas));
  text("--generator", options.generator, alternatives(all_generators),
       "Random numbers of the dynamics (minstd); those of cuRAND on a GPU only.")
      ->check(one_of(names(all_generators)));
  text("--seed", options.seed, "S", "Seed of all that is random, 0 to 9223372036854775807 (42).")
      ->check(whole_number(0));
  text("--start", options.start, alternatives(starts), "Each spin up or down at random, or all up (random).")
      ->check(one_of(names(starts)));
  CLI::Option* fraction = real("--ferromagnetic-fraction", options.ferromagnetic_fraction, "P",
                               "Probability of J = +1 instead of -1, 0 to 1 (0.5).");
  text("--couplings", options.couplings, "FILE",
       "Couplings from edge lists (\"N M\", then \"i j J\"), one file a sample, instead of random ones.")
      ->excludes(fraction);
  text("--write-couplings", options.write_couplings, "FILE", "Write the couplings as edge lists, one file a sample.");
  text("--measure", options.measure, "end|log|every:N",
       "Measure after the last sweep (end), after 0, 1, 2, 4, 8, ... or after 0, N, 2N, ... sweeps, and the last.");
  text("--output", options.output, "FILE",
       "Write energy, magnetisation and overlaps of every sample and replica, as .csv or .json.");
  text("--averages", options.averages, "FILE", "Write averages over samples with their errors, as .csv or .json.");
  text("--device", options.device, "auto|cpu|gpu|N", "Where to compute: the best there is (auto), or GPU number N.");
  text("--indexing", options.indexing, alternatives(indexings), "How threads find sites (the stage's choice).")
      ->check(one_of(names(indexings)));
  text("--load", options.load, alternatives(loads), "How kernels read (the stage's choice).")
      ->check(one_of(names(loads)));
  text("--threads", options.threads, "T", "Threads of a block (the stage's choice).")->check(whole_number(1, 1024));
  text("--sites-per-thread", options.sites_per_thread, "N", "Sites that a thread updates (the stage's choice).")
      ->check(whole_number(1, 1024));
  text("--kernel", options.kernel, "auto|" + alternatives(kernels), "Which of a stage's kernels (the stage's choice).")
      ->check(one_of(names_or_auto(kernels)));
  text("--samples-per-word", options.samples_per_word, "K", "Samples that are bits of one word (the stage's choice).")
      ->check(whole_number(1, 1024));
  app.add_flag("--json", options.json, "Print one JSON object instead of the report.");
}

// ---- The problem

std::shared_ptr<const AllCouplings> read_couplings(const std::vector<std::string>& paths,
                                                   std::optional<std::int64_t>& size) {
  auto couplings = std::make_shared<AllCouplings>();
  std::string said_by = "--size";
  for (const std::string& path : paths) {
    Instance instance = read_edge_list(path);
    if (size && *size != instance.size) {
      throw InvalidInput(path + ": its size is " + std::to_string(instance.size) + "; " + said_by + " has " +
                         std::to_string(*size));
    }
    if (!size) {
      size = instance.size;
      said_by = path;
    }
    couplings->push_back(std::move(instance.couplings));
  }
  return couplings;
}

Run make_run(const Options& options) {
  Run run{{}, options.temperature, options.sweeps, options.measure, options.couplings};
  Problem& problem = run.problem;
  if (options.beta) {
    problem.beta = *options.beta;
    run.temperature = problem.beta == 0 ? std::nullopt : std::optional(1 / problem.beta);
  } else {
    run.temperature = options.temperature.value_or(default_temperature);
    problem.beta = 1 / *run.temperature;
    if (*run.temperature <= 0 || !std::isfinite(problem.beta)) {
      throw InvalidInput("--temperature is " + nlohmann::json(*run.temperature).dump() +
                         ": allowed are numbers > 0 with a finite inverse");
    }
  }
  problem.replicas = options.replicas;
  problem.samples_per_stream = options.samples_per_stream;
  problem.generator = named(all_generators, options.generator);
  problem.seed = static_cast<std::uint64_t>(options.seed);
  problem.start = named(starts, options.start);
  problem.ferromagnetic_fraction = options.ferromagnetic_fraction;
  std::optional<std::int64_t> size = options.size;
  std::optional<std::int64_t> samples = options.samples;
  if (!options.couplings.empty()) {
    const auto files = static_cast<std::int64_t>(options.couplings.size());
    if (samples.value_or(files) != files) {
      throw InvalidInput("--samples is " + std::to_string(*samples) + ": --couplings has " + std::to_string(files) +
                         (files == 1 ? " file" : " files") + ", one for each sample; leave --samples out");
    }
    samples = files;
    problem.given_couplings = read_couplings(options.couplings, size);
  }
  problem.size = size.value_or(default_size);
  problem.samples = samples.value_or(1);
  check(problem);
  const std::int64_t most = period(problem.generator) / problem.replicas;
  if (run.sweeps > most) {
    throw InvalidInput("--sweeps is " + std::to_string(run.sweeps) + ": the streams of " +
                       std::string(name(problem.generator)) + " repeat themselves after " + std::to_string(most) +
                       " sweeps of " + std::to_string(problem.replicas) + " replicas; take another --generator");
  }
  return run;
}

/// Throws InvalidInput if the host's memory cannot hold the spins and couplings, here and, unless the engine keeps its
/// own on a GPU, there, and what is measured. The engine checks for itself the memory of its device.
void refuse_large_problem(const Problem& problem, const Schedule& schedule, const std::string& platform) {
  const auto of = [](std::int64_t number) { return static_cast<double>(number); };
  const double lattices = of(problem.samples) * of(sites(problem)) * (of(problem.replicas) + 3);
  const double needed = lattices * (platform == "gpu" ? 1 : 2) + of(problem.samples) * sizeof(double) * 5 +
                        of(pairs(problem.replicas)) * sizeof(std::int64_t) + of(schedule.count()) * sizeof(Averages);
  const double there = of(host_memory_bytes());
  if (needed <= there) {
    return;
  }
  throw InvalidInput("--size " + std::to_string(problem.size) + " with " + std::to_string(problem.samples) +
                     " samples of " + std::to_string(problem.replicas) + " replicas and " +
                     std::to_string(schedule.count()) + " measuring times needs " + readable_bytes(needed) +
                     " of memory; the machine has " + readable_bytes(there));
}

std::shared_ptr<const AllCouplings> couplings_of(const Problem& problem) {
  if (problem.given_couplings) {
    return problem.given_couplings;
  }
  auto couplings = std::make_shared<AllCouplings>();
  for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
    couplings->push_back(sample_couplings(problem, sample));
  }
  return couplings;
}

// ---- The run

/// A device's first launch also loads the kernel. A small lattice, of a size that every launch can do, takes that out
/// of the measured time.
void warm_up(const Platform& platform, const Launch& launch, Generator generator) {
  Problem small;
  small.size = 16;
  small.replicas = 1;
  small.generator = generator;
  platform.make_simulation(small, launch)->advance(2);
}

/// Measures a state: rows to the file, sums and averages to the result.
void measure(const Problem& problem, const State& state, std::int64_t sweep, const AllCouplings& couplings,
             RunFiles& files, Result& result) {
  Averager averager(problem);
  result.energy = result.magnetisation = 0;
  for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
    const SampleObservables observables = observe(state, sample, couplings[sample]);
    averager.add(observables);
    for (std::int64_t replica = 0; replica < problem.replicas; ++replica) {
      result.energy += observables.energies[replica];
      result.magnetisation += observables.magnetisations[replica];
    }
    files.add(sweep, sample, observables);
  }
  files.flush();
  result.averages.push_back({sweep, averager.averages()});
}

/// From measurement to measurement until the last sweep.
void simulate(Simulation& simulation, const Run& run, const Schedule& schedule, const AllCouplings& couplings,
              RunFiles& files, Result& result) {
  Progress progress("sweeps", run.sweeps);
  const auto advance = [&](std::int64_t sweeps) { return simulation.advance(2 * sweeps); };
  std::int64_t done = 0;
  for (std::int64_t next = schedule.first();; next = schedule.after(done)) {
    if (next > done) {
      result.seconds += progress.work(next - done, advance);
      done = next;
    }
    const State state = simulation.state();
    measure(run.problem, state, done, couplings, files, result);
    if (done == run.sweeps) {
      result.hash = hex(state_hash(state));
      return;
    }
  }
}

Launch make_wish(const Options& options, const DeviceReport& device) {
  Launch wish;
  wish.device = device.index;
  if (options.indexing) {
    wish.indexing = named(indexings, *options.indexing);
  }
  if (options.load) {
    wish.load = named(loads, *options.load);
  }
  wish.threads = options.threads;
  wish.sites_per_thread = options.sites_per_thread;
  if (options.kernel && *options.kernel != "auto") {
    wish.kernel = named(kernels, *options.kernel);
  }
  wish.samples_per_word = options.samples_per_word;
  return wish;
}

void work(const Options& options) {
  const Schedule schedule(options.measure, options.sweeps);
  Run run = make_run(options);
  const Choice choice = choose_device(platforms(), options.device);
  refuse_large_problem(run.problem, schedule, choice.platform->name);
  RunFiles files({options.output, options.averages, options.write_couplings}, run.problem.samples);
  if (files.writes_standard_output() && options.json) {
    throw InvalidInput("--json: standard output takes the JSON object or a file, not both");
  }
  std::ostream& out = files.writes_standard_output() ? std::cerr : std::cout;

  const std::unique_ptr<Simulation> simulation =
      choice.platform->make_simulation(run.problem, make_wish(options, choice.device));
  if (!options.json) {
    report_device(out, choice.device);
  }
  Result result{choice.device, simulation->launch()};
  warm_up(*choice.platform, result.launch, run.problem.generator);

  const std::shared_ptr<const AllCouplings> couplings = couplings_of(run.problem);
  run.couplings_hash = hex(couplings_hash(*couplings));
  const nlohmann::ordered_json header = header_json(run, choice.device, result.launch);
  files.begin(header, run.problem, *couplings);
  simulate(*simulation, run, schedule, *couplings, files, result);
  files.end(header, result.averages);
  if (options.json) {
    std::cout << text_of(result_json(run, result), 2) << '\n';
  } else {
    report(out, run, result);
  }
}

}  // namespace

int run(int argc, const char* const* argv) noexcept {
  CLI::App app(
      "Simulates the three-dimensional +-J spin glass (Edwards-Anderson) on a periodic cubic lattice by Metropolis\n"
      "dynamics: a sweep updates all sites of one checkerboard colour, then all of the other.",
      "spin_glass");
  Options options;
  declare(app, options);
  app.footer("The hash identifies the final state: every stage, device and launch gives the same.");
  return run_program(app, argc, argv, [&] { work(options); });
}

}  // namespace psflip::spin_glass
