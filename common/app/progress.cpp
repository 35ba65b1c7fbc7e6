#include "app/progress.hpp"

#include <unistd.h>

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

void Progress::update(std::int64_t done) {
  if (!watched_ || Clock::now() < next_drawing_) {
    return;
  }
  std::fprintf(stderr, "\r%" PRId64 " of %" PRId64 " %s (%.0f %%)\033[K", done, total_, what_.c_str(),
               100.0 * static_cast<double>(done) / static_cast<double>(total_));
  drawn_ = true;
  next_drawing_ = Clock::now() + 200ms;
}

}  // namespace psflip
