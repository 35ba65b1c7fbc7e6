/// What a run of the program `spin_glass` is, and what comes out of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spin_glass/model/averages.hpp"
#include "spin_glass/model/ladder_averages.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {

/// The files that it writes, those that are asked for.
struct Outputs {
  std::optional<std::string> rows{};          ///< --output
  std::optional<std::string> averages{};      ///< --averages
  std::optional<std::string> correlations{};  ///< --correlations
  std::optional<std::string> distribution{};  ///< --distribution
  std::optional<std::string> sums{};          ///< --sums
  std::optional<std::string> spins{};         ///< --write-spins
  std::vector<std::string> couplings{};       ///< --write-couplings: none, or one for each sample
};

inline constexpr std::int64_t most_sweeps =
    100'000'000'000;  ///< so that their product with the replicas is no overflow

struct Run {
  Problem problem{};
  std::optional<double> temperature{};        ///< as asked for, or 1 / beta; none for beta = 0 or a ladder
  std::int64_t sweeps = 100;                  ///< 0 to most_sweeps
  std::string measure = "end";                ///< the rule (schedule.hpp)
  std::vector<std::string> coupling_files{};  ///< the given couplings' origin, one a sample
  std::string couplings_hash{};               ///< 16 hexadecimal digits
  std::optional<std::string> spins{};         ///< the file of those with which it started, instead of problem.start
  Outputs outputs{};

  /// Calls f with every name of a file that it reads or writes.
  template <class F>
  void for_each_file_name(F f) {
    for (std::optional<std::string>* const path : {&outputs.rows, &outputs.averages, &outputs.correlations,
                                                   &outputs.distribution, &outputs.sums, &outputs.spins, &spins}) {
      if (*path) f(**path);
    }
    std::ranges::for_each(outputs.couplings, f);
    std::ranges::for_each(coupling_files, f);
  }
  /// Whether correlations are measured, too.
  bool correlates() const { return outputs.correlations.has_value(); }
  /// What is averaged at each temperature of a ladder, besides numbers.
  LadderFunctions functions() const { return {outputs.correlations.has_value(), outputs.distribution.has_value()}; }
  /// Whether what is measured of every sample and time is kept, as it is for rows, and for sums but with a ladder,
  /// which has bins; and whether the correlations are among it.
  bool keeps_rows() const { return outputs.rows || (outputs.sums && !problem.ladder); }
  bool keeps_correlations() const { return outputs.sums && correlates(); }
};

struct AveragesAt {
  std::int64_t sweep;
  Averages averages;
  std::optional<Correlations> correlations{};
};

/// What came out so far; at the end, of the whole run.
struct Result {
  double seconds = 0;                  ///< of the device, for all sweeps
  std::string hash{};                  ///< of the last state: 16 hexadecimal digits
  std::int64_t energy = 0;             ///< at the last measurement, summed over samples and replicas
  std::int64_t magnetisation = 0;      ///< likewise
  std::vector<AveragesAt> averages{};  ///< none with a ladder
  LadderBins ladder{};                 ///< with one

  /// The sweep of the last measurement; -1: there was none.
  std::int64_t measured() const { return averages.empty() ? ladder.measured() : averages.back().sweep; }
};

}  // namespace psflip::spin_glass
