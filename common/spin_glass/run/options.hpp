/// The command line of the program `spin_glass`.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "spin_glass/run/run.hpp"

namespace psflip::spin_glass {

/// What was given; what was not has no value. --help says what each is and what it is when left out.
struct Options {
  // The problem
  std::optional<std::int64_t> size;
  std::optional<double> temperature;
  std::optional<double> beta;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> replicas;
  std::optional<std::int64_t> samples_per_stream;
  std::optional<std::string> generator;
  std::optional<std::int64_t> seed;
  std::optional<std::string> start;
  std::optional<double> ferromagnetic_fraction;
  std::vector<std::string> couplings;
  // The run
  std::optional<std::int64_t> sweeps;
  std::optional<std::string> measure;
  // What it writes
  std::vector<std::string> write_couplings;
  std::optional<std::string> output;
  std::optional<std::string> averages;
  std::optional<std::string> correlations;
  bool json = false;
  std::optional<std::string> checkpoint;
  std::optional<std::string> checkpoint_every;
  std::optional<std::string> resume;
  // Where and how it is computed
  std::optional<std::string> device;
  LaunchValues launch;  ///< "auto" may be among them
};

/// Makes the options known to the command line, which fills them in.
void declare(CommandLine& line, Options& options);

/// What is asked for, without what takes a device; reads the files of --couplings. Throws InvalidInput.
Run make_run(const Options& options);

/// The options that a resumed run is to have: those of the checkpoint, and whatever was given besides. Throws
/// InvalidInput, naming the option, if that would make it another run.
Options continued(const Options& given, const Options& saved);

/// Options with all that was left out filled in, and file names that are good in any folder: so a checkpoint keeps
/// them.
Options completed(const Options& options, const Run& run);

/// A value of a launch: whole numbers are numbers.
nlohmann::ordered_json json_value(const LaunchField& field, const std::string& value);

/// For the checkpoint: all but --checkpoint and --resume.
nlohmann::ordered_json as_json(const Options& options);
/// Throws nlohmann::json::exception if it is none.
Options options_of(const nlohmann::ordered_json& json);

}  // namespace psflip::spin_glass
