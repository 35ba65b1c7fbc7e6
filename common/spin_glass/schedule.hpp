#pragma once

#include <cstdint>
#include <string>

namespace psflip::spin_glass {

/// When a run measures: after which of its `sweeps` sweeps. Always after the last.
class Schedule {
 public:
  /// `rule`: "log" for 0, 1, 2, 4, 8, ...; "every:N", N >= 1, for 0, N, 2N, ...; "end" for the last sweep alone.
  /// Throws InvalidInput, as of the option --measure, for anything else. sweeps >= 0.
  Schedule(const std::string& rule, std::int64_t sweeps);

  std::int64_t first() const;
  /// The first time after `time`, which is a measuring time other than the last.
  std::int64_t after(std::int64_t time) const;
  /// How many times there are.
  std::int64_t count() const;

 private:
  enum class Kind { end, log, every };

  Kind kind_;
  std::int64_t step_ = 0;
  std::int64_t sweeps_;
};

}  // namespace psflip::spin_glass
