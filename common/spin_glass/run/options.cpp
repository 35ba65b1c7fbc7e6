#include "spin_glass/run/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
#include "spin_glass/model/edge_list.hpp"
#include "spin_glass/run/schedule.hpp"

namespace psflip::spin_glass {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array starts{Start::random, Start::ordered};
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

/// The one of `values` that has the name.
template <class Values>
auto named(const Values& values, std::string_view wanted) {
  return *std::ranges::find_if(values, [&](auto value) { return name(value) == wanted; });
}

/// "random|ordered"
std::string alternatives(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) {
    result += (result.empty() ? "" : "|") + word;
  }
  return result;
}

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

// ---- Lists of options. f gets the option's name and its fields in every Options of `options`.

/// What makes a run another one.
template <class F, class... Some>
void for_each_of_problem(F f, Some&... options) {
  f("--size", options.size...);
  f("--samples", options.samples...);
  f("--replicas", options.replicas...);
  f("--samples-per-stream", options.samples_per_stream...);
  f("--generator", options.generator...);
  f("--seed", options.seed...);
  f("--start", options.start...);
  f("--measure", options.measure...);
}

/// What a checkpoint keeps besides the launch.
template <class F, class... Some>
void for_each_of_run(F f, Some&... options) {
  for_each_of_problem(f, options...);
  f("--temperature", options.temperature...);
  f("--beta", options.beta...);
  f("--ferromagnetic-fraction", options.ferromagnetic_fraction...);
  f("--couplings", options.couplings...);
  f("--sweeps", options.sweeps...);
  f("--write-couplings", options.write_couplings...);
  f("--output", options.output...);
  f("--averages", options.averages...);
  f("--correlations", options.correlations...);
  f("--json", options.json...);
  f("--checkpoint-every", options.checkpoint_every...);
  f("--device", options.device...);
}

// ---- Their values in JSON. A file name may have any bytes, and JSON is UTF-8: a byte becomes the character of its
// number.

Json value_of(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto number = static_cast<unsigned char>(byte);
    if (number < 0x80) {
      text += byte;
    } else {
      text += static_cast<char>(0xc0 | number >> 6);
      text += static_cast<char>(0x80 | (number & 0x3f));
    }
  }
  return text;
}
template <class T>
Json value_of(const T& value) {
  return value;
}
template <class T>
Json value_of(const std::optional<T>& value) {
  return value ? value_of(*value) : Json();
}
Json value_of(const std::vector<std::string>& values) {
  Json all = Json::array();
  for (const std::string& value : values) {
    all.push_back(value_of(value));
  }
  return all;
}

void read_value(const Json& json, std::string& bytes) {
  const auto text = json.get<std::string>();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    bytes += first < 0x80 || i + 1 == text.size() ? text[i] : static_cast<char>(first << 6 | (text[++i] & 0x3f));
  }
}
template <class T>
void read_value(const Json& json, T& value) {
  value = json.get<T>();
}
template <class T>
void read_value(const Json& json, std::optional<T>& value) {
  if (!json.is_null()) {
    read_value(json, value.emplace());
  }
}
void read_value(const Json& json, std::vector<std::string>& values) {
  for (const Json& value : json) {
    read_value(value, values.emplace_back());
  }
}

/// A value as in a message.
template <class T>
std::string in_words(const T& value) {
  return Json(value).dump();
}
std::string in_words(const std::string& value) { return value; }

[[noreturn]] void contradict(const std::string& option, const std::string& given, const std::string& saved) {
  throw InvalidInput(option + " is " + given + ": the run to be resumed has " + saved + "; leave " + option + " out");
}

/// Replaces the field if it was given.
template <class T>
void replace(const std::optional<T>& given, std::optional<T>& field) {
  if (given) {
    field = given;
  }
}

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).lexically_normal(); }

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
  text("--replicas", options.replicas, "R", "Copies of each sample, with starts and random numbers of their own (4).")
      .check(whole_number(1, most_samples_or_replicas));
  text("--samples-per-stream", options.samples_per_stream, "W",
       "So many samples share their random numbers; errors are over groups of them (32).")
      .check(whole_number(1, most_samples_or_replicas));
  text("--generator", options.generator, alternatives(names(all_generators)),
       "Random numbers of the dynamics (minstd); those of cuRAND on a GPU only.")
      .check(one_of(names(all_generators)));
  text("--seed", options.seed, "S", "Seed of all that is random, 0 to 9223372036854775807 (42).")
      .check(whole_number(0));
  text("--start", options.start, alternatives(names(starts)), "Each spin up or down at random, or all up (random).")
      .check(one_of(names(starts)));
  text("--ferromagnetic-fraction", options.ferromagnetic_fraction, "P",
       "Probability of J = +1 instead of -1, 0 to 1 (0.5).");
  text("--couplings", options.couplings, "FILE",
       "Couplings from edge lists (\"N M\", then \"i j J\"), one file a sample, instead of random ones.")
      .excludes("--ferromagnetic-fraction");
  text("--write-couplings", options.write_couplings, "FILE", "Write the couplings as edge lists, one file a sample.");
  text("--measure", options.measure, "end|log[:K]|every:N",
       "Measure after the last sweep (end); after 0, 1, 2, 4, 8, ... sweeps and the last, with K times as many "
       "between; or "
       "after 0, N, 2N, ... and the last (end).");
  text("--output", options.output, "FILE",
       "Write energy, magnetisation and overlaps of every sample and replica, as .csv or .json.");
  text("--averages", options.averages, "FILE", "Write averages over samples with their errors, as .csv or .json.");
  text("--correlations", options.correlations, "FILE",
       "Measure the overlaps' correlations C4(r) and the coherence length xi_12 as well, and write C4(r) as .csv or "
       ".json.");
  text("--checkpoint", options.checkpoint, "FILE",
       "Save the run now and then, at its end and before SIGINT, SIGTERM, SIGHUP or SIGUSR1 ends it.");
  text("--checkpoint-every", options.checkpoint_every, "N|Nm|Nh", "After so many sweeps, minutes or hours (10m).");
  text("--resume", options.resume, "FILE",
       "Continue the run of a checkpoint, and save it there; with --sweeps, to another length.");
  text("--device", options.device, "auto|cpu|gpu|N", "Where to compute: the best there is (auto), or GPU number N.");
  for (const LaunchField& field : launch_fields()) {
    std::vector<std::string> words = field.words;
    if (field.automatic) words.insert(words.begin(), "auto");
    const auto take = [&options, name = field.name](const std::string& value) { options.launch[name] = value; };
    line.callback(field.option, take, field.help + " (the stage's choice).")
        .type(words.empty() ? "N" : alternatives(words))
        .check(words.empty() ? whole_number(1, field.most) : one_of(words));
  }
  line.flag("--json", options.json, "Print one JSON object instead of the report.");
}

Run make_run(const Options& options) {
  Run run{{},
          options.temperature,
          options.sweeps.value_or(100),
          options.measure.value_or("end"),
          options.correlations.has_value(),
          options.couplings};
  Problem& problem = run.problem;
  if (options.beta) {
    problem.beta = *options.beta;
    if (!run.temperature && problem.beta != 0) {
      run.temperature = 1 / problem.beta;
    }
  } else {
    run.temperature = options.temperature.value_or(default_temperature);
    problem.beta = 1 / *run.temperature;
    if (*run.temperature <= 0 || !std::isfinite(problem.beta)) {
      throw InvalidInput("--temperature is " + nlohmann::json(*run.temperature).dump() +
                         ": allowed are numbers > 0 with a finite inverse");
    }
  }
  problem.replicas = options.replicas.value_or(problem.replicas);
  problem.samples_per_stream = options.samples_per_stream.value_or(problem.samples_per_stream);
  if (options.generator) {
    problem.generator = named(all_generators, *options.generator);
  }
  problem.seed = static_cast<std::uint64_t>(options.seed.value_or(static_cast<std::int64_t>(problem.seed)));
  if (options.start) {
    problem.start = named(starts, *options.start);
  }
  problem.ferromagnetic_fraction = options.ferromagnetic_fraction.value_or(problem.ferromagnetic_fraction);
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
  problem.size = size.value_or(problem.size);
  problem.samples = samples.value_or(1);
  check(problem);
  if (run.correlations && problem.replicas < 2) {
    throw InvalidInput("--correlations: they are of the overlaps between replicas, and --replicas is 1");
  }
  const std::int64_t most = period(problem.generator) / problem.replicas;
  if (run.sweeps > most) {
    throw InvalidInput("--sweeps is " + std::to_string(run.sweeps) + ": the streams of " +
                       std::string(name(problem.generator)) + " repeat themselves after " + std::to_string(most) +
                       " sweeps of " + std::to_string(problem.replicas) + " replicas; take another --generator");
  }
  return run;
}

Options continued(const Options& given, const Options& saved) {
  for_each_of_problem(
      [](const char* option, const auto& asked, const auto& had) {
        if (asked && asked != had) {
          contradict(option, in_words(*asked), in_words(had.value()));
        }
      },
      given, saved);
  if (given.temperature && 1 / *given.temperature != saved.beta) {
    contradict("--temperature", in_words(*given.temperature),
               saved.temperature ? in_words(*saved.temperature) : "beta = 0");
  }
  if (given.beta && given.beta != saved.beta) {
    contradict("--beta", in_words(*given.beta), in_words(*saved.beta));
  }
  if (given.ferromagnetic_fraction &&
      (!saved.couplings.empty() || given.ferromagnetic_fraction != saved.ferromagnetic_fraction)) {
    contradict("--ferromagnetic-fraction", in_words(*given.ferromagnetic_fraction),
               saved.couplings.empty() ? in_words(*saved.ferromagnetic_fraction) : "couplings from files");
  }
  if (!given.couplings.empty() && saved.couplings.empty()) {
    contradict("--couplings", given.couplings.front(), "random ones");
  }
  if (given.output && !saved.output) {
    contradict("--output", *given.output, "none, so its rows were not kept");
  }
  if (given.correlations && !saved.correlations) {
    contradict("--correlations", *given.correlations, "none: they were not measured");
  }

  Options options = saved;
  options.resume = given.resume;
  options.checkpoint = given.resume;
  if (given.checkpoint && absolute(*given.checkpoint) != absolute(*given.resume)) {
    contradict("--checkpoint", *given.checkpoint, *given.resume + ", which --resume continues");
  }
  replace(given.sweeps, options.sweeps);
  replace(given.output, options.output);
  replace(given.averages, options.averages);
  replace(given.correlations, options.correlations);
  replace(given.checkpoint_every, options.checkpoint_every);
  replace(given.device, options.device);
  options.json |= given.json;
  if (!given.couplings.empty()) {
    options.couplings = given.couplings;
  }
  if (!given.write_couplings.empty()) {
    options.write_couplings = given.write_couplings;
  }
  if (!given.launch.empty()) {
    options.launch = given.launch;
  }
  return options;
}

Options completed(const Options& options, const Run& run) {
  const Problem& problem = run.problem;
  Options result = options;
  result.size = problem.size;
  result.beta = problem.beta;
  result.temperature = run.temperature;
  result.samples = problem.samples;
  result.replicas = problem.replicas;
  result.samples_per_stream = problem.samples_per_stream;
  result.generator = name(problem.generator);
  result.seed = static_cast<std::int64_t>(problem.seed);
  result.start = name(problem.start);
  result.ferromagnetic_fraction = problem.ferromagnetic_fraction;
  result.sweeps = run.sweeps;
  result.measure = run.measure;
  for (std::optional<std::string>* const path : {&result.output, &result.averages, &result.correlations}) {
    if (*path) {
      *path = absolute(**path);
    }
  }
  for (std::string& path : result.write_couplings) {
    path = absolute(path);
  }
  return result;
}

Json json_value(const LaunchField& field, const std::string& value) {
  return field.words.empty() ? Json(std::stoi(value)) : Json(value);
}

Json as_json(const Options& options) {
  Json json;
  const auto put = [&](const char* option, const auto& field) { json[option] = value_of(field); };
  for_each_of_run(put, options);
  for (const LaunchField& field : launch_fields()) {
    const auto found = options.launch.find(field.name);
    json[field.option] = found == options.launch.end() ? Json() : json_value(field, found->second);
  }
  return json;
}

Options options_of(const Json& json) {
  Options options;
  const auto take = [&](const char* option, auto& field) { read_value(json.at(option), field); };
  for_each_of_run(take, options);
  for (const LaunchField& field : launch_fields()) {
    const Json value = json.value(field.option, Json());  // a checkpoint may be older than some options of the launch
    if (!value.is_null()) {
      options.launch[field.name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  return options;
}

}  // namespace psflip::spin_glass
