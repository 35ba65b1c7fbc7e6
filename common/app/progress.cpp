#include "app/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace psflip {

using namespace std::chrono_literals;

Progress::Progress(std::string what, std::int64_t total)
    : what_(std::move(what)),
      total_(total),
      watched_(isatty(STDERR_FILENO) == 1),
      next_drawing_(Clock::now() + 500ms) {}

Progress::~Progress() {
  if (drawn_) {
    std::fputs("\r\033[K", stderr);
  }
}

double Progress::work(std::int64_t amount, const std::function<double(std::int64_t)>& advance) {
  if (!watched_) {
    return advance(amount);
  }
  double seconds = 0;
  for (const std::int64_t end = done_ + amount; done_ < end;) {
    const std::int64_t part = std::min(part_, end - done_);
    const double taken = advance(part);
    seconds += taken;
    done_ += part;
    draw();
    if (part == part_ && taken < 0.1) {
      part_ *= 2;
    }
  }
  return seconds;
}

void Progress::draw() {
  if (Clock::now() < next_drawing_) {
    return;
  }
  std::fprintf(stderr, "\r%" PRId64 " of %" PRId64 " %s (%.0f %%)\033[K", done_, total_, what_.c_str(),
               100.0 * static_cast<double>(done_) / static_cast<double>(total_));
  drawn_ = true;
  next_drawing_ = Clock::now() + 200ms;
}

}  // namespace psflip
