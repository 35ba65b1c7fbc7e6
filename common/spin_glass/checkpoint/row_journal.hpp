#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/state_hash.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {

/// What --output is made of, of every sample and measuring time, in a file beside the checkpoint that only ever grows.
/// So a checkpoint need not hold it; it says how much of the file it stands for, and a resumed run makes the rows
/// again.
///
/// The file: for each measuring time a record of 64-bit whole numbers, little-endian: the sweep; then for each sample
/// the energies and magnetisations of its replicas and the overlaps of their pairs, and for --sums with --correlations
/// these. What goes wrong is an InvalidInput.
class RowJournal {
 public:
  /// So many records, with this Checksum.
  struct Extent {
    std::int64_t records = 0;
    std::uint64_t checksum = Checksum().value();
    friend bool operator==(const Extent&, const Extent&) = default;
  };
  using Row = std::function<void(std::int64_t sweep, std::int64_t sample, const SampleObservables&)>;

  /// The one of a checkpoint: calls `row` for every sample of the extent's records and cuts off what comes after them.
  /// Refuses, and does not touch, a file that does not begin with the extent; where that is nothing, there need be
  /// none, and one that is there is emptied.
  RowJournal(std::string path, const Problem& problem, const Extent& extent, const Row& row, bool correlations = false);

  /// Samples come in their order, and those of a measuring time together.
  void add(std::int64_t sweep, std::int64_t sample, const SampleObservables& observables);
  /// Sends to the system what was added.
  void flush();
  /// Waits until the disk has it; says how much there is.
  Extent synchronise();

 private:
  void open(const char* mode);
  void put(std::int64_t number);
  [[noreturn]] void fail() const;

  std::string path_;
  bool correlations_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
  std::int64_t records_ = 0;
  Checksum checksum_;
};

}  // namespace psflip::spin_glass
