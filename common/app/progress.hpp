#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace psflip {

/// A line on stderr that says how far the work is. Shown only if stderr is a terminal and the work lasts longer than a
/// moment; redrawn a few times a second however often it is updated; wiped when the object goes.
class Progress {
 public:
  /// `what` names the unit, as in "steps"; `total` of them are to be done.
  Progress(std::string what, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether anybody watches. If not, there is no need to cut the work into parts.
  bool watched() const { return watched_; }
  /// `done` of `total` are done now.
  void update(std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  std::int64_t total_;
  bool watched_;
  bool drawn_ = false;
  Clock::time_point next_drawing_;
};

}  // namespace psflip
