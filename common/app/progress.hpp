#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace psflip {

/// A line on stderr that says how far the work is and when it will be done. Shown only if stderr is a terminal and the
/// work lasts longer than a moment; redrawn a few times a second at most; wiped when the object goes.
class Progress {
 public:
  /// `what` names the unit, as in "steps"; `total` of them are to be done, and `done` were done before.
  Progress(std::string what, std::int64_t total, std::int64_t done = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Whether somebody may be watching; if not, nobody need say how far the work is.
  bool watched() const { return watched_; }
  /// So much is done now.
  void at(std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  std::int64_t total_;
  std::int64_t first_;  ///< done before
  bool watched_;
  bool drawn_ = false;
  Clock::time_point begin_;
  Clock::time_point next_drawing_;
};

/// Work in parts of about a tenth of a second, for who has something to do between them.
class Parts {
 public:
  /// How much to do next of what is left.
  std::int64_t next(std::int64_t left) const { return std::min(part_, left); }
  /// So long it took.
  void took(std::int64_t part, double seconds) {
    if (part != part_) return;
    if (seconds < 0.05) part_ *= 2;
    if (seconds > 0.4 && part_ > 1) part_ /= 2;  // others have come who use the device, too
  }

 private:
  std::int64_t part_ = 1;
};

/// A time to wait, in words: "40 s", "12 min", "3 h 05 min", "2 d 04 h".
std::string duration_in_words(double seconds);

}  // namespace psflip
