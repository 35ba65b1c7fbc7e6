#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/files/output_file.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/model/run.hpp"
#include "spin_glass/run/result_table.hpp"
#include "spin_glass/run/sums_file.hpp"

namespace psflip::spin_glass {

/// The files that a run writes, where they are asked for. They are opened before any computing and appear together.
/// What goes wrong is an InvalidInput.
class RunFiles {
 public:
  /// Refuses a number of files for couplings other than `samples`, and what would be lost: one file for two purposes,
  /// among these and what else the run writes and reads, and a file that belongs to another run's checkpoint.
  RunFiles(const Outputs& outputs, std::int64_t samples, const std::vector<std::string>& others_written = {},
           const std::vector<std::string>& read = {});

  bool writes_standard_output() const;

  /// What is known before the first sweep.
  void begin(const ResultTable::Header& header, const Run& run);
  /// A row for every replica of a sample, the problem's number `sample`. overlap_b is the overlap with replica b, in
  /// the rows of the replicas before b; with a ladder that with copy b, at the same temperature.
  void add(std::int64_t sweep, std::int64_t sample, const SampleObservables& observables);
  /// Sends to the system what was added: a full disk then ends a run at once, not after its last sweep.
  void flush();
  /// Those of the last state, before the end.
  void write_spins(ResultTable::Header header, const Simulation& simulation, const Result& result);
  /// Writes the rest and puts all files in their places.
  void end(const ResultTable::Header& header, const Problem& problem, const Result& result);

 private:
  void write_ladder(const ResultTable::Header& header, const std::vector<LadderAverages>& rows, std::int64_t size);

  std::vector<double> temperatures_;  ///< of the ladder
  std::int64_t first_sample_ = 0;
  std::optional<ResultTable> rows_;
  std::optional<ResultTable> averages_;
  std::optional<ResultTable> correlations_;
  std::optional<ResultTable> distribution_;
  std::optional<SumsOutput> sums_;
  std::optional<OutputFile> spins_;
  std::list<OutputFile> couplings_;
};

/// What was averaged at a measuring time, and its name: what averaged_names has, and "xi_12" of correlations.
std::vector<std::pair<std::string, std::optional<Average>>> quantities(const AveragesAt& at);

/// The same as a row of a table, "sweep" first, each quantity with its error, "e" and "e_error": names, and cells. What
/// there is not, is an empty cell.
std::vector<std::string> average_columns(const AveragesAt& at);
std::vector<ResultTable::Cell> average_row(const AveragesAt& at);

/// The same for a ladder: sweep_first, sweep, the measurements between them, temperature; then as above.
std::vector<std::string> ladder_columns();
std::vector<ResultTable::Cell> ladder_row(const LadderAverages& row, const std::vector<double>& temperatures);

}  // namespace psflip::spin_glass
