#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
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

  /// Does `amount` more of the work by calls of `advance(part)`, which returns the seconds that the device took for a
  /// part; returns their sum. The work is cut into parts, of about a tenth of a second, only if somebody watches, or if
  /// there is a `pause`: that is asked after every part, and true ends the work early. done() then says how far it
  /// came.
  double work(std::int64_t amount, const std::function<double(std::int64_t)>& advance,
              const std::function<bool()>& pause = {});
  /// For work that tells from time to time how much of it is done.
  void at(std::int64_t done);

  std::int64_t done() const { return done_; }

 private:
  using Clock = std::chrono::steady_clock;

  void draw();

  std::string what_;
  std::int64_t total_;
  std::int64_t done_;
  std::int64_t first_;  ///< done before
  std::int64_t part_ = 1;
  bool watched_;
  bool drawn_ = false;
  Clock::time_point begin_;
  Clock::time_point next_drawing_;
};

/// A time to wait, in words: "40 s", "12 min", "3 h 05 min", "2 d 04 h".
std::string duration_in_words(double seconds);

}  // namespace psflip
