/// The command line of the program `spin_glass`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "spin_glass/engine/launch.hpp"
#include "spin_glass/model/run.hpp"

namespace psflip::spin_glass {

/// What was given; what was not has no value. --help says what each is and what it is when left out.
struct Options {
  // The problem
  std::optional<std::int64_t> size;
  std::optional<double> temperature;
  std::optional<double> beta;
  std::optional<std::string> temperatures;
  std::optional<std::int64_t> copies;
  std::optional<std::int64_t> exchange_every;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> first_sample;
  std::optional<std::int64_t> replicas;
  std::optional<std::int64_t> samples_per_stream;
  std::optional<Generator> generator;
  std::optional<std::uint64_t> seed;
  std::optional<Start> start;
  std::optional<double> ferromagnetic_fraction;
  std::vector<std::string> couplings;
  std::optional<std::string> spins;
  // The run
  std::optional<std::int64_t> sweeps;
  std::optional<std::string> measure;
  // What it writes
  Outputs outputs;
  bool json = false;
  std::optional<std::string> checkpoint;
  std::optional<std::string> checkpoint_every;
  std::optional<std::string> resume;
  std::vector<std::string> merge;  ///< instead of a run
  // Where and how it is computed
  std::optional<std::string> device;
  LaunchValues launch;  ///< "auto" may be among them
};

/// Makes the options known to the command line, which fills them in.
void declare(CommandLine& line, Options& options);

/// What is asked for, without what takes a device; with `saved`, that run, to be continued as the options say. Reads
/// the files of --couplings. Throws InvalidInput, naming the option, for what cannot be done or would be another run.
Run make_run(const Options& given, const Run* saved = nullptr);

}  // namespace psflip::spin_glass
