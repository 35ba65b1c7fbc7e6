#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace psflip {

/// A line on stderr that says how far the work is. Shown only if stderr is a terminal and the work lasts longer than a
/// moment; redrawn a few times a second at most; wiped when the object goes.
class Progress {
 public:
  /// `what` names the unit, as in "steps"; `total` of them are to be done.
  Progress(std::string what, std::int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Does `amount` more of the work by calls of `advance(part)`, which returns the seconds that the device took for a
  /// part; returns their sum. The work is cut into parts only if somebody watches.
  double work(std::int64_t amount, const std::function<double(std::int64_t)>& advance);

 private:
  using Clock = std::chrono::steady_clock;

  void draw();

  std::string what_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  std::int64_t part_ = 1;
  bool watched_;
  bool drawn_ = false;
  Clock::time_point next_drawing_;
};

}  // namespace psflip
