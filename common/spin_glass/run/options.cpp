#include "spin_glass/run/options.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/command_line.hpp"
#include "app/files/file_names.hpp"
#include "app/invalid_input.hpp"
#include "app/text.hpp"
#include "gpu/launch_options.hpp"
#include "spin_glass/model/edge_list.hpp"
#include "spin_glass/model/exchange.hpp"

namespace psflip::spin_glass {
namespace {

constexpr double default_temperature = 1.1;                 ///< about the critical one
constexpr std::int64_t most_samples_or_replicas = 1 << 24;  ///< as check() has it

using AllCouplings = std::vector<std::vector<Coupling>>;  // [sample][3 s + d]

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

/// What makes a run another one: f gets the option's name, what was given and the run's field.
template <class F, class RunOrConst>
void for_each_of_problem(F f, const Options& given, RunOrConst& run) {
  f("--size", given.size, run.problem.size);
  f("--samples", given.samples, run.problem.samples);
  f("--first-sample", given.first_sample, run.problem.first_sample);
  f("--replicas", given.replicas, run.problem.replicas);
  f("--samples-per-stream", given.samples_per_stream, run.problem.samples_per_stream);
  f("--generator", given.generator, run.problem.generator);
  f("--seed", given.seed, run.problem.seed);
  f("--start", given.start, run.problem.start);
  f("--measure", given.measure, run.measure);
}

/// A value as in a message.
template <class T>
std::string in_message(const T& value) {
  return nlohmann::json(value).dump();
}
template <Named T>
std::string in_message(const T& value) {
  return std::string(name(value));
}
std::string in_message(const std::string& value) { return value; }

[[noreturn]] void contradict(const std::string& option, const std::string& given, const std::string& saved) {
  throw InvalidInput(option + " is " + given + ": the run to be resumed has " + saved + "; leave " + option + " out");
}

/// The temperatures that --temperatures asks for. What is computed is rounded to six decimals: then it is the same on
/// all machines, and can be given as a list. Those of "auto" are known for random couplings alone.
std::vector<double> temperatures_in(const std::string& asked) {
  const auto refuse = [&](const std::string& why) {
    throw InvalidInput("--temperatures is " + asked + ": " + why +
                       "; allowed are LO:HI:N, LO:HI:N:linear, auto:LO:HI:N, N = 2 to 128, and T,T,...");
  };
  const auto parts = [&](char separator) {
    std::vector<std::string> found(1);
    for (const char c : asked) {
      if (c == separator)
        found.emplace_back();
      else
        found.back() += c;
    }
    return found;
  };
  const auto number = [&](const std::string& text) {
    const auto value = number_in<double>(text);
    if (!value || *value <= 0) refuse("\"" + text + "\" is no number > 0");
    return *value;
  };
  std::vector<double> temperatures;
  std::vector<std::string> range = parts(':');
  const bool automatic = range.front() == "auto";
  if (automatic) range.erase(range.begin());
  if (range.size() == 1 && !automatic) {
    for (const std::string& text : parts(',')) temperatures.push_back(number(text));
    return temperatures;
  }
  const bool linear = range.size() == 4 && range[3] == "linear";
  if (range.size() != 3 && (automatic || !linear))
    refuse("it has " + std::to_string(std::ranges::count(asked, ':')) + " colons");
  const double lowest = number(range[0]), highest = number(range[1]);
  const auto count = number_in<std::int64_t>(range[2]);
  if (!count || *count < 2 || *count > most_ladder_replicas) refuse("N is \"" + range[2] + "\"");
  if (automatic) {
    if (lowest < lowest_known_temperature) refuse("for \"auto\" LO is at least 0.4");
    if (!(lowest < highest && highest < std::numeric_limits<double>::infinity())) refuse("HI is not above LO");
    temperatures = even_temperatures(lowest, highest, *count);
    for (double& temperature : temperatures) temperature = std::round(temperature * 1e6) / 1e6;
  }
  for (std::int64_t i = 0; i < *count && !automatic; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(*count - 1);
    const double exact = linear ? lowest + share * (highest - lowest) : lowest * std::pow(highest / lowest, share);
    temperatures.push_back(std::round(exact * 1e6) / 1e6);
  }
  return temperatures;
}

/// Throws InvalidInput if what was given would make the saved run another one.
void refuse_another(const Options& given, const Run& saved) {
  const Problem& problem = saved.problem;
  for_each_of_problem(
      [](const char* option, const auto& asked, const auto& had) {
        if (asked && *asked != had) contradict(option, in_message(*asked), in_message(had));
      },
      given, saved);
  const auto contradict_ladder = [&](const char* option, const auto& asked, auto had) {
    if (asked && !problem.ladder) contradict(option, in_message(*asked), "no ladder of temperatures");
    if (asked && *asked != had) contradict(option, in_message(*asked), in_message(had));
  };
  contradict_ladder("--copies", given.copies, copies(problem));
  contradict_ladder("--exchange-every", given.exchange_every, problem.ladder.exchange_every);
  if (given.temperatures && (!problem.ladder || temperatures_in(*given.temperatures) != problem.ladder.temperatures)) {
    contradict("--temperatures", *given.temperatures,
               problem.ladder ? in_message(problem.ladder.temperatures) : "no ladder of temperatures");
  }
  if (problem.ladder && (given.temperature || given.beta)) {
    contradict(given.beta ? "--beta" : "--temperature", in_message(given.beta ? *given.beta : *given.temperature),
               "a ladder of temperatures");
  }
  if (given.temperature && 1 / *given.temperature != problem.beta) {
    contradict("--temperature", in_message(*given.temperature),
               saved.temperature ? in_message(*saved.temperature) : "beta = 0");
  }
  if (given.beta && given.beta != problem.beta) {
    contradict("--beta", in_message(*given.beta), in_message(problem.beta));
  }
  const bool random = saved.coupling_files.empty();
  if (given.ferromagnetic_fraction && (!random || given.ferromagnetic_fraction != problem.ferromagnetic_fraction)) {
    contradict("--ferromagnetic-fraction", in_message(*given.ferromagnetic_fraction),
               random ? in_message(problem.ferromagnetic_fraction) : "couplings from files");
  }
  if (!given.couplings.empty() && random) {
    contradict("--couplings", given.couplings.front(), "random ones");
  }
  if (given.spins && given.spins != saved.spins) {
    contradict("--spins", *given.spins, saved.spins.value_or("those of --start"));
  }
  if (given.outputs.sums && !saved.outputs.sums) {
    contradict("--sums", *given.outputs.sums, "none, so they were not kept");
  }
  if (given.outputs.rows && !saved.keeps_rows()) {
    contradict("--output", *given.outputs.rows, "none, so its rows were not kept");
  }
  if (given.outputs.correlations && !saved.correlates()) {
    contradict("--correlations", *given.outputs.correlations, "none: they were not measured");
  }
  if (given.outputs.distribution && !saved.outputs.distribution) {
    contradict("--distribution", *given.outputs.distribution, "none: it was not counted");
  }
  if (given.checkpoint && !one_file(*given.checkpoint, given.resume.value())) {
    contradict("--checkpoint", *given.checkpoint, *given.resume + ", which --resume continues");
  }
}

/// The ladder of a new run, and its replicas.
void set_ladder(const Options& given, Run& run) {
  Problem& problem = run.problem;
  if (!given.temperatures) {
    for (const auto& [option, value] :
         {std::pair("--copies", given.copies), {"--exchange-every", given.exchange_every}})
      if (value) throw InvalidInput(std::string(option) + ": it needs --temperatures");
    return;
  }
  if (given.temperatures->starts_with("auto") && problem.ferromagnetic_fraction != 0.5) {
    throw InvalidInput("--temperatures is " + *given.temperatures + ": its heat capacity is that of " +
                       "--ferromagnetic-fraction 0.5 alone");
  }
  problem.ladder = {temperatures_in(*given.temperatures), given.exchange_every.value_or(Ladder().exchange_every)};
  problem.replicas = given.copies.value_or(2) * std::ssize(problem.ladder.temperatures);
  problem.beta = 1 / problem.ladder.temperatures.front();
  run.temperature.reset();
  if (!given.measure) run.measure = "every:" + std::to_string(problem.ladder.exchange_every);
}

/// The temperature of a new run, and beta.
void set_temperature(const Options& given, Run& run) {
  double& beta = run.problem.beta;
  if (given.beta) {
    beta = *given.beta;
    run.temperature = beta != 0 ? std::optional(1 / beta) : std::nullopt;
    return;
  }
  run.temperature = given.temperature.value_or(default_temperature);
  beta = 1 / *run.temperature;
  if (*run.temperature <= 0 || !std::isfinite(beta)) {
    throw InvalidInput("--temperature is " + in_message(*run.temperature) +
                       ": allowed are numbers > 0 with a finite inverse");
  }
}

/// Puts what was given, if it was, in the field's place.
template <class Given, class Field>
void replace(const Given& given, Field& field) {
  if (given != Given{}) field = given;
}

}  // namespace

void declare(CommandLine& line, Options& options) {
  const auto text = [&](const std::string& name, auto& value, const std::string& type, const std::string& help) {
    return line.option(name, value, help).type(type);
  };
  text("--size", options.size, "L", "Spins along each side of the lattice, even, from 4 (16, or what --couplings has).")
      .check(whole_number(1));
  text("--temperature", options.temperature, "T", "Temperature, J = kB = 1 (1.1).");
  text("--beta", options.beta, "B", "Inverse temperature, instead.").excludes("--temperature");
  text("--sweeps", options.sweeps, "N", "How often all spins are updated (100).").check(whole_number(0, most_sweeps));
  text("--samples", options.samples, "M", "Realisations of the couplings (1, or as many as --couplings has files).")
      .check(whole_number(1, most_samples_or_replicas));
  text("--first-sample", options.first_sample, "S",
       "These are samples S, S + 1, ... of a larger problem, with the bits that they have there: a multiple of "
       "--samples-per-stream (0).")
      .check(whole_number(0, most_numbered_samples));
  text("--replicas", options.replicas, "R", "Copies of each sample, with starts and random numbers of their own (4).")
      .check(whole_number(1, most_samples_or_replicas));
  text("--temperatures", options.temperatures, "LO:HI:N|T,T,...",
       "Instead, a ladder of temperatures for replica exchange: N from LO to HI, each the same factor above the one "
       "before (LO:HI:N:linear: the same difference; auto:LO:HI:N: so that exchanges are accepted alike), rounded to "
       "six "
       "decimals; or all of them.")
      .excludes("--temperature")
      .excludes("--beta")
      .excludes("--replicas");
  text("--copies", options.copies, "C", "Independent copies of the ladder, 1 to 4 (2): overlaps are between them.")
      .check(whole_number(1, most_copies));
  text("--exchange-every", options.exchange_every, "N", "Sweeps between exchanges (10).")
      .check(whole_number(1, most_sweeps));
  text("--samples-per-stream", options.samples_per_stream, "W",
       "So many samples share their random numbers; errors are over groups of them (32; 1 for philox-planes).")
      .check(whole_number(1, most_samples_or_replicas));
  text("--generator", options.generator, joined(names<Generator>(), "|"),
       "Random numbers of the dynamics (minstd); those of cuRAND on a GPU only.");
  text("--seed", options.seed, "S", "Seed of all that is random, 0 to 9223372036854775807 (42).")
      .check(whole_number(0));
  text("--start", options.start, joined(names<Start>(), "|"), "Each spin up or down at random, or all up (random).");
  text("--spins", options.spins, "FILE", "Start with the spins of a file of --write-spins, instead.")
      .excludes("--start");
  text("--ferromagnetic-fraction", options.ferromagnetic_fraction, "P",
       "Probability of J = +1 instead of -1, 0 to 1 (0.5).");
  text("--couplings", options.couplings, "FILE",
       "Couplings from edge lists (\"N M\", then \"i j J\"), one file a sample, instead of random ones.")
      .excludes("--ferromagnetic-fraction");
  text("--write-couplings", options.outputs.couplings, "FILE", "Write the couplings as edge lists, one file a sample.");
  text("--measure", options.measure, "end|log[:K]|every:N",
       "Measure after the last sweep (end); after 0, 1, 2, 4, 8, ... sweeps and the last, with K times as many "
       "between; or after 0, N, 2N, ... and the last (end).");
  text("--output", options.outputs.rows, "FILE",
       "Write energy, magnetisation and overlaps of every sample and replica, as .csv or .json.");
  text("--averages", options.outputs.averages, "FILE",
       "Write averages over samples with their errors, as .csv or .json.");
  text("--correlations", options.outputs.correlations, "FILE",
       "Measure the overlaps' correlations C4(r) and, without --temperatures, the coherence length xi_12 as well, and "
       "write C4(r) as .csv or .json.");
  text("--distribution", options.outputs.distribution, "FILE",
       "With --temperatures: write P(q), the distribution of overlaps, as .csv or .json.");
  text("--write-spins", options.outputs.spins, "FILE", "Write the spins after the last sweep.");
  text("--sums", options.outputs.sums, "FILE", "Write what --merge takes.");
  text("--checkpoint", options.checkpoint, "FILE",
       "Save the run now and then, at its end and before SIGINT, SIGTERM, SIGHUP or SIGUSR1 ends it.");
  text("--checkpoint-every", options.checkpoint_every, "N|Nm|Nh", "After so many sweeps, minutes or hours (10m).");
  text("--resume", options.resume, "FILE",
       "Continue the run of a checkpoint, and save it there; with --sweeps, to another length.");
  text("--device", options.device, "auto|cpu|gpu|N", "Where to compute: the best there is (auto), or GPU number N.");
  declare_launch<Launch>(line, options.launch);
  CommandLine::Option merge =
      text("--merge", options.merge, "FILE",
           "Compute nothing, but write what one run of all samples would have written, from --sums of runs with some "
           "of them each. With --samples and --first-sample, they have to be just these.");
  for (const char* const other : {"--size",
                                  "--temperature",
                                  "--beta",
                                  "--temperatures",
                                  "--copies",
                                  "--exchange-every",
                                  "--replicas",
                                  "--samples-per-stream",
                                  "--generator",
                                  "--seed",
                                  "--start",
                                  "--spins",
                                  "--ferromagnetic-fraction",
                                  "--couplings",
                                  "--write-couplings",
                                  "--sweeps",
                                  "--measure",
                                  "--write-spins",
                                  "--checkpoint",
                                  "--checkpoint-every",
                                  "--resume",
                                  "--device"})
    merge.excludes(other);
  for (const LaunchField& field : launch_fields()) merge.excludes(field.option);
  line.flag("--json", options.json, "Print one JSON object instead of the report.");
}

Run make_run(const Options& given, const Run* saved) {
  if (saved != nullptr) refuse_another(given, *saved);
  Run run = saved != nullptr ? *saved : Run();
  Problem& problem = run.problem;
  for_each_of_problem([](const char*, const auto& asked, auto& field) { field = asked.value_or(field); }, given, run);
  if (saved == nullptr && !given.samples_per_stream)
    problem.samples_per_stream = usual_samples_per_stream(problem.generator);
  problem.ferromagnetic_fraction = given.ferromagnetic_fraction.value_or(problem.ferromagnetic_fraction);
  if (saved == nullptr) {
    set_temperature(given, run);
    set_ladder(given, run);
  }
  run.sweeps = given.sweeps.value_or(run.sweeps);
  replace(given.couplings, run.coupling_files);
  replace(given.outputs.rows, run.outputs.rows);
  replace(given.outputs.averages, run.outputs.averages);
  replace(given.outputs.correlations, run.outputs.correlations);
  replace(given.outputs.distribution, run.outputs.distribution);
  replace(given.outputs.couplings, run.outputs.couplings);
  replace(given.outputs.sums, run.outputs.sums);
  replace(given.outputs.spins, run.outputs.spins);
  replace(given.spins, run.spins);

  if (!run.coupling_files.empty()) {
    const bool known = saved != nullptr;  // else what is left out is as the files have it
    const std::int64_t files = std::ssize(run.coupling_files);
    if ((known || given.samples) && problem.samples != files) {
      throw InvalidInput("--samples is " + std::to_string(problem.samples) + ": --couplings has " +
                         std::to_string(files) + (files == 1 ? " file" : " files") +
                         ", one for each sample; leave --samples out");
    }
    problem.samples = files;
    std::optional<std::int64_t> size = known ? problem.size : given.size;
    problem.given_couplings = read_couplings(run.coupling_files, size);
    problem.size = *size;
  }
  check(problem);
  if (run.outputs.distribution && !problem.ladder) {
    throw InvalidInput("--distribution: it needs --temperatures");
  }
  for (const auto& [option, file] :
       {std::pair("--correlations", run.outputs.correlations), {"--distribution", run.outputs.distribution}}) {
    if (file && copies(problem) < 2) {
      throw InvalidInput(std::string(option) + ": they are of the overlaps between replicas, and " +
                         (problem.ladder ? "--copies" : "--replicas") + " is 1");
    }
  }
  const std::int64_t most = period(problem.generator) / problem.replicas;
  if (run.sweeps > most) {
    throw InvalidInput("--sweeps is " + std::to_string(run.sweeps) + ": the streams of " +
                       std::string(name(problem.generator)) + " repeat themselves after " + std::to_string(most) +
                       " sweeps of " + std::to_string(problem.replicas) + " replicas; take another --generator");
  }
  return run;
}

}  // namespace psflip::spin_glass
