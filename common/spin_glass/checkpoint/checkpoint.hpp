/// A run that can be continued, as a file.
///
/// It is a described file (described_file.hpp), named "psFlip3D":
///   the description: a JSON object (description.cpp). Names of files are relative to the checkpoint's folder, but
///              absolute ones of files outside stay
///   doubles    the averages, a row for each measuring time: the sweep; value and error of every quantity;
///              if there are correlations, value and error of xi_12 and of C4(r), r = 0 .. L/2. NaN: there is none
///   doubles    with a ladder of temperatures: its finished bins, a row for each and temperature: first and last sweep,
///              measurements, number of the temperature, value and error of every quantity (ladder_names), of C4(r)
///              and of P(q) if they are asked for; then the numbers of the bin that is not finished (LadderBins), and
///              with --sums those of the finished ones
///   bits       the spins, in the order of State (state.hpp), 1 = up, the lowest bit of a byte first, then 0s
///   words      of 32 bits: with a ladder, the accepted exchanges and the walkers (Exchanges)
///   words      of 32 bits: the random streams, as save_streams() gives them (simulation.hpp)
/// Any stage can go on from it, on any device. Nothing is compressed: spins and streams are noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "app/files/file_names.hpp"
#include "app/files/output_file.hpp"
#include "spin_glass/checkpoint/described_file.hpp"
#include "spin_glass/checkpoint/row_journal.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/run.hpp"

namespace psflip::spin_glass {

/// What a checkpoint says besides spins and streams.
struct Saved {
  Run run{};  ///< given couplings by their files alone
  // How it is computed. Each may be another when the run is resumed.
  LaunchValues launch{};  ///< that was used
  std::optional<std::string> device{}, checkpoint_every{};
  bool json = false;
  std::string stage{}, platform{};           ///< that wrote it
  std::int64_t sweeps = 0;                   ///< done
  Result result{};                           ///< until now; no hash
  std::optional<RowJournal::Extent> rows{};  ///< how much of the journal belongs to it, if there is one
};

/// Run and manner by the names of the program's options, as the description has them.
nlohmann::ordered_json as_json(const Saved& saved);
/// Each value is of its type; whether they go together, only Checkpoint sees. Throws nlohmann::json::exception,
/// std::bad_optional_access or InvalidInput if they are none.
Saved saved_of(const nlohmann::ordered_json& json);

/// The text of a description. None is nested deeply or has many names, for which the library would take much of the
/// stack and of the time. Throws nlohmann::json::exception or InvalidInput if it is none.
nlohmann::ordered_json parsed_description(const std::string& text);

/// Writes one. Does not commit.
void write_checkpoint(OutputFile& file, const Saved& saved, const Simulation& simulation);

class Checkpoint {
 public:
  /// Opens one and checks every byte, and then that it is what a run can have saved: nothing that it says has to be
  /// checked again, but for the device and how often to save, and whether couplings and files are there. Throws
  /// InvalidInput if it is none, of another version, or damaged.
  explicit Checkpoint(std::string path);

  const Saved& saved() const { return saved_; }
  /// Puts an engine of the run's problem where the run was.
  void restore(Simulation& simulation);

 private:
  /// What follows the description: so many averages, then spins and streams of so many words, in a file of so many
  /// bytes. Throws InvalidInput if that cannot be.
  void read_averages(std::int64_t count, std::int64_t length);
  void check_state(int words, std::int64_t length);
  /// Bins of a ladder, finished rows first.
  void read_ladder(std::int64_t rows, std::int64_t length);

  DescribedInput file_;
  Saved saved_;
  std::int64_t state_at_ = 0;  ///< byte at which the spins begin
};

/// The folder in which it is, behind symbolic links.
inline std::filesystem::path folder_of(const std::string& checkpoint) { return behind_links(checkpoint).parent_path(); }
/// The journal that goes with a checkpoint.
inline std::string journal_path(const std::string& checkpoint) { return checkpoint + ".rows"; }

}  // namespace psflip::spin_glass
