/// What joining the runs of some samples to the run of all takes (--sums, --merge): a described file
/// (checkpoint/described_file.hpp), named "psFlipSm":
///   the description: "header", what the run's other files begin with, and "options", as in a checkpoint
///   64-bit whole numbers, but with a ladder only if the run had --output: for each measuring time the sweep, then of
///              each sample what for_each_number() (model/observables.hpp) has; correlations if the run had them
///   doubles    with a ladder: for each bin its numbers (LadderBins)
///   48 bytes   SumsEnd
/// All of it is as it was summed, nothing rounded: averages that are made from it are those of one run, to the last
/// bit.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/files/output_file.hpp"
#include "spin_glass/checkpoint/described_file.hpp"
#include "spin_glass/model/run.hpp"

namespace psflip::spin_glass {

struct SumsEnd {
  std::int64_t times = 0, bins = 0;
  std::int64_t energy = 0, magnetisation = 0;  ///< of the last measurement
  std::uint64_t hash = 0;                      ///< of the last state
  double seconds = 0;
};

class SumsOutput {
 public:
  explicit SumsOutput(const std::string& path) : file_(path) {}

  OutputFile& file() { return file_; }
  const OutputFile& file() const { return file_; }
  void begin(const nlohmann::ordered_json& header, const Run& run);
  void add(std::int64_t sweep, std::int64_t sample, const SampleObservables& observables);
  /// Does not commit.
  void end(const Result& result);

 private:
  OutputFile file_;
  std::optional<DescribedOutput> out_;
  bool rows_ = false, correlations_ = false;
  std::int64_t times_ = 0;
};

class Sums {
 public:
  explicit Sums(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const nlohmann::ordered_json& header() const { return header_; }
  const nlohmann::ordered_json& options() const { return options_; }
  const Run& run() const { return run_; }
  const SumsEnd& end() const { return end_; }
  /// Of measuring time i: the sweep, then the numbers of all samples.
  std::vector<std::int64_t> time(std::int64_t i);
  std::vector<double> bin(std::int64_t i);

 private:
  template <class T>
  std::vector<T> read_part(std::int64_t at, std::int64_t numbers);
  std::int64_t of_time() const;

  DescribedInput file_;
  nlohmann::ordered_json header_, options_;
  Run run_;
  SumsEnd end_;
};

}  // namespace psflip::spin_glass
