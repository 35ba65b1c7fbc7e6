// The program `majority`: start, advance, report, write files. `majority --help` says it all.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/files/file_names.hpp"
#include "app/files/output_file.hpp"
#include "app/host.hpp"
#include "app/invalid_input.hpp"
#include "app/progress.hpp"
#include "app/state_hash.hpp"
#include "gpu/launch_options.hpp"
#include "majority/lattice.hpp"
#include "majority/pbm.hpp"
#include "majority/picture.hpp"
#include "majority/platforms.hpp"

namespace psflip::majority {
namespace {

struct Options {
  std::optional<std::int64_t> size;
  std::int64_t steps = 10;
  std::uint32_t seed = 42;
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::optional<std::string> picture;
  bool plain = false;
  std::string device = "auto";
  LaunchValues launch;
  bool json = false;
};

constexpr std::int64_t default_size = 1000;

void declare(CommandLine& line, Options& options) {
  const auto text = [&](const std::string& name, auto& value, const std::string& type, const std::string& help) {
    return line.option(name, value, help).type(type);
  };
  text("--size", options.size, "N", "Spins along each side of the lattice (1000, or what --input has).")
      .check(whole_number(1));
  text("--steps", options.steps, "K", "How often all spins are updated (10).").check(whole_number(0));
  text("--seed", options.seed, "S", "Seed of the random start, 0 to 4294967295 (42).")
      .check(whole_number(0, UINT32_MAX));
  text("--input", options.input, "FILE", "Start from this square PBM bitmap (P1 or P4), 1 = up.").excludes("--seed");
  text("--output", options.output, "FILE", "Write the final state as a PBM bitmap (P4), 1 = up.");
  line.flag("--plain", options.plain, "Write --output as text (P1).").needs("--output");
  text("--picture", options.picture, "FILE",
       "Write the final state as a PNG of at most 1024 x 1024 pixels, up = black.");
  text("--device", options.device, "auto|cpu|gpu|N", "Where to compute: the best there is (auto), or GPU number N.");
  declare_launch<Launch>(line, options.launch);
  line.flag("--json", options.json, "Print one JSON object instead of the report.");
}

/// The largest lattice that the host's memory can hold: here and on its way to or from the engine, and, unless the
/// engine keeps them on a GPU, the engine's own two copies. A spin takes four bytes unless it is said to take less.
std::int64_t largest_size(const Platform& platform, std::optional<Storage> storage) {
  const double bytes_per_engine_copy = bytes_per_spin(storage.value_or(Storage::int32));
  const double bytes_per_site = 2 + (platform.name == "gpu" ? 0 : 2 * bytes_per_engine_copy);
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(host_memory_bytes()) / bytes_per_site));
}

Lattice start(const Options& options, std::int64_t largest) {
  if (!options.input) {
    const std::int64_t size = options.size.value_or(default_size);
    if (size > largest) {
      throw InvalidInput("--size " + std::to_string(size) + ": the memory of this machine suffices for " +
                         std::to_string(largest) + " at most");
    }
    return random_lattice(size, options.seed);
  }
  Lattice lattice = read_pbm(*options.input, largest);
  if (options.size && *options.size != lattice.size) {
    throw InvalidInput("--size " + std::to_string(*options.size) + ": " + *options.input + " has size " +
                       std::to_string(lattice.size) + "; leave --size out");
  }
  return lattice;
}

/// A device's first launch also loads the kernel. A lattice of one spin takes that out of the measured time.
void warm_up(const Platform& platform, const Launch& launch) {
  const std::unique_ptr<Simulation> simulation = platform.make(1, launch);
  simulation->set_spins({1, {1}});
  simulation->advance(1);
}

/// Returns the device's seconds.
double advance(Simulation& simulation, std::int64_t steps) {
  Progress progress("steps", steps);
  if (!progress.watched()) return simulation.advance(steps);
  Parts parts;
  double seconds = 0;
  for (std::int64_t done = 0; done < steps;) {
    const std::int64_t part = parts.next(steps - done);
    const double taken = simulation.advance(part);
    parts.took(part, taken);
    seconds += taken;
    progress.at(done += part);
  }
  return seconds;
}

struct Result {
  ChosenDevice choice;
  Launch launch;
  std::int64_t size = 0;
  std::string hash;
  std::int64_t magnetisation = 0;
  std::int64_t energy = 0;
  double seconds = 0;
};

nlohmann::ordered_json as_json(const Options& options, const Result& result) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(); };
  const DeviceReport& device = result.choice.device;
  return {
      {"program", "majority"},
      {"stage", stage()},
      {"problem",
       {{"size", result.size},
        {"steps", options.steps},
        {"seed", options.input ? Json() : Json(options.seed)},
        {"input", or_null(options.input)}}},
      {"device", {{"name", device.name}, {"platform", device.platform}, {"index", device.index}}},
      {"launch", json_of<Json>(result.launch)},
      {"seconds", result.seconds},
      {"hash", result.hash},
      {"magnetisation", result.magnetisation},
      {"energy", result.energy},
  };
}

void report_device(std::ostream& out, const DeviceReport& device) {
  out << "device      " << device.name << " (" << device.platform << ' ' << device.index << "), stage " << stage()
      << '\n'
      << std::flush;
}

void report(std::ostream& out, const Options& options, const Result& result) {
  const double sites = static_cast<double>(result.size) * static_cast<double>(result.size);
  out << "problem     " << result.size << " x " << result.size << " spins, " << options.steps << " steps, start "
      << (options.input ? *options.input : "random, seed " + std::to_string(options.seed)) << '\n';
  out << "launch      " << in_words(result.launch).substr(std::string("storage ").size()) << '\n';  // as "int8, ..."
  if (options.steps > 0) {
    const double seconds_per_step = result.seconds / static_cast<double>(options.steps);
    out << "time        " << 1e3 * seconds_per_step << " ms per step, " << 1e12 * seconds_per_step / sites
        << " ps per site\n";
  }
  out << "hash        " << result.hash << '\n';
  out << "M           " << result.magnetisation << " (" << static_cast<double>(result.magnetisation) / sites
      << " a site)\n";
  out << "E           " << result.energy << " (" << static_cast<double>(result.energy) / sites << " a site)\n";
}

void work(const Options& options) {
  std::vector<std::string> written, read;
  for (const auto& path : {options.output, options.picture}) {
    if (path) written.push_back(*path);
  }
  // An input may become its own output: it is read whole before that appears.
  if (options.input && !(options.output && one_file(*options.input, *options.output))) read.push_back(*options.input);
  refuse_twins(written, read);
  const ChosenDevice choice = choose_device(platforms(), options.device);
  const auto wish = launch_with<Launch>(options.launch, choice.device.index);

  std::list<OutputFile> files;
  OutputFile* const output = options.output ? &files.emplace_back(*options.output) : nullptr;
  OutputFile* const picture = options.picture ? &files.emplace_back(*options.picture) : nullptr;
  const bool stdout_is_taken = std::ranges::any_of(files, &OutputFile::is_standard_output);
  if (stdout_is_taken && options.json) {
    throw InvalidInput("--json: standard output takes the JSON object or a file, not both");
  }
  std::ostream& out = stdout_is_taken ? std::cerr : std::cout;

  Lattice lattice = start(options, largest_size(*choice.platform, wish.storage));
  const std::unique_ptr<Simulation> simulation = choice.platform->make(lattice.size, wish);
  if (!options.json) {
    report_device(out, choice.device);
  }
  warm_up(*choice.platform, simulation->launch());

  Result result{choice, simulation->launch(), lattice.size, "", 0, 0, 0};
  simulation->set_spins(lattice);
  lattice = {};  // so that no more than largest_size() counts is held
  result.seconds = advance(*simulation, options.steps);
  lattice = simulation->spins();
  result.hash = hex(state_hash(lattice));
  result.magnetisation = magnetisation(lattice);
  result.energy = energy(lattice);

  if (output) write_pbm(*output, lattice, options.plain ? PbmFormat::plain : PbmFormat::packed);
  if (picture) write_png(*picture, draw(lattice));
  std::ranges::for_each(files, &OutputFile::flush);  // both are written before either appears
  std::ranges::for_each(files, &OutputFile::commit);
  if (options.json) {
    // A file name need not be UTF-8.
    std::cout << as_json(options, result).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    report(out, options, result);
  }
}

}  // namespace
}  // namespace psflip::majority

int main(int argc, char** argv) {
  using namespace psflip::majority;
  psflip::CommandLine line(
      "Updates a square lattice of spins, up or down, with periodic boundaries: in every step each spin becomes the\n"
      "majority of itself and its four neighbours.",
      "majority");
  Options options;
  declare(line, options);
  line.footer("The hash identifies the final state: every stage, device and launch gives the same.");
  return psflip::run_program(line, argc, argv, [&] { work(options); });
}
