#include "app/progress.hpp"

#include <unistd.h>

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <utility>

namespace psflip {

using namespace std::chrono_literals;

namespace {

/// When it will be so many seconds later, by the clock on the wall: ", until 14:05". Nothing for what ends within
/// minutes.
std::string end_in_words(double seconds) {
  if (seconds < 600 || seconds > 3e9) {
    return "";
  }
  const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(seconds);
  std::tm local{};
  char text[32] = "";
  if (localtime_r(&end, &local) != nullptr) {
    std::strftime(text, sizeof text, seconds < 20 * 3600 ? ", until %H:%M" : ", until %Y-%m-%d %H:%M", &local);
  }
  return text;
}

}  // namespace

Progress::Progress(std::string what, std::int64_t total, std::int64_t done)
    : what_(std::move(what)),
      total_(total),
      first_(done),
      watched_(isatty(STDERR_FILENO) == 1),
      begin_(Clock::now()),
      next_drawing_(begin_ + 500ms) {}

Progress::~Progress() {
  if (drawn_) {
    std::fputs("\r\033[K", stderr);
  }
}

void Progress::at(std::int64_t done) {
  const Clock::time_point now = Clock::now();
  if (!watched_ || done == first_ || now < next_drawing_) {
    return;
  }
  const double left = std::chrono::duration<double>(now - begin_).count() * static_cast<double>(total_ - done) /
                      static_cast<double>(done - first_);
  std::fprintf(stderr, "\r%" PRId64 " of %" PRId64 " %s (%.0f %%), %s left%s\033[K", done, total_, what_.c_str(),
               100.0 * static_cast<double>(done) / static_cast<double>(total_), duration_in_words(left).c_str(),
               end_in_words(left).c_str());
  drawn_ = true;
  next_drawing_ = now + 200ms;
}

std::string duration_in_words(double seconds) {
  const auto two = [](double value, double unit, const char* large, const char* small, double parts) {
    const double count = std::floor(value / unit + 0.5);  // in small units
    char text[64];
    std::snprintf(text, sizeof text, "%.0f %s %02.0f %s", std::floor(count / parts), large, std::fmod(count, parts),
                  small);
    return std::string(text);
  };
  if (seconds < 99.5) {
    return std::to_string(static_cast<int>(std::lround(seconds))) + " s";
  }
  if (seconds < 59.5 * 60) {
    return std::to_string(static_cast<int>(std::lround(seconds / 60))) + " min";
  }
  if (seconds < 23.75 * 3600) {
    return two(seconds, 60, "h", "min", 60);
  }
  return two(seconds, 3600, "d", "h", 24);
}

}  // namespace psflip
