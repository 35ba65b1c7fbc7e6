#pragma once

#include <cstdint>
#include <string>

namespace psflip::spin_glass {

/// When a run measures: after which of its `sweeps` sweeps. Always after the last.
class Schedule {
 public:
  /// `rule`: "log:K", 1 <= K <= 1000, for 0 and the whole numbers next to 2^(j/K), j = 0, 1, ..., so about K times in
  /// every doubling; "log", the same with K = 1, for 0, 1, 2, 4, 8, ...; "every:N", N >= 1, for 0, N, 2N, ...; "end"
  /// for the last sweep alone. Throws InvalidInput, as of the option --measure, for anything else. sweeps >= 0.
  Schedule(const std::string& rule, std::int64_t sweeps);

  std::int64_t first() const { return after(-1); }
  /// The first measuring time after `time`, -1 <= time < sweeps.
  std::int64_t after(std::int64_t time) const;
  /// Whether the run measures after so many sweeps.
  bool has(std::int64_t time) const { return time >= 0 && time <= sweeps_ && after(time - 1) == time; }
  /// How many times there are.
  std::int64_t count() const;

 private:
  enum class Kind { end, log, every };

  Kind kind_;
  std::int64_t step_ = 1;  ///< N or K
  std::int64_t sweeps_;
};

}  // namespace psflip::spin_glass
