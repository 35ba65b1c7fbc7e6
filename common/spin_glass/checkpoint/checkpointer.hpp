#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/files/output_file.hpp"
#include "app/interruption.hpp"
#include "spin_glass/checkpoint/checkpoint.hpp"

namespace psflip::spin_glass {

/// Saves a run while it is computed. The checkpoint before stays what it is until the new one is complete.
class Checkpointer {
 public:
  /// Throws InvalidInput if nothing can be written there, or another program is at it. Where something is already, only
  /// a resumed run may go on.
  Checkpointer(std::string path, bool resumed);

  /// "N" sweeps, "Nm" minutes or "Nh" hours; throws InvalidInput for anything else.
  void set_interval(const std::string& every);

  /// Where it writes: no other file of the run may be there.
  std::vector<std::string> paths() const { return {path_, journal_path(path_), lock_of(path_)}; }

  /// Saves the run where it begins; from now on it can be resumed, and signals are noted. `known` is what is known of
  /// it before its first sweep; `journal` that of a resumed run. A new one that writes --output gets one.
  void begin(Saved known, std::unique_ptr<RowJournal> journal, const Simulation& simulation);

  /// The sweeps after which the run is to be saved next, if that depends on sweeps; else many.
  std::int64_t next(std::int64_t sweeps) const;
  /// Whether it is time to save a run after so many sweeps, or a signal came.
  bool is_due(std::int64_t sweeps) const;
  /// Saves the run as it is.
  void save(const Simulation& simulation, const Result& result);
  /// Throws Interrupted if a signal came; the run has been saved.
  void end_if_interrupted() const;

  /// Keeps a sample's observables, for a run that keeps its rows.
  void add(std::int64_t sweep, std::int64_t sample, const SampleObservables& observables);
  void flush();

 private:
  using Clock = std::chrono::steady_clock;

  std::string path_;
  FileLock lock_;                  ///< for the whole run: between two parts nobody else gets in
  std::int64_t every_sweeps_ = 0;  ///< 0: by time
  Clock::duration every_time_ = std::chrono::minutes(10);
  std::optional<OutputFile> file_;  ///< the next one, open all the time
  Saved saved_;
  std::unique_ptr<RowJournal> journal_;
  std::optional<Interruption> interruption_;
  Clock::time_point saved_when_ = Clock::now();
};

}  // namespace psflip::spin_glass
