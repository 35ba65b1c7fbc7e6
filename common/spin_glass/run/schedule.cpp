#include "spin_glass/run/schedule.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "app/invalid_input.hpp"

namespace psflip::spin_glass {
namespace {

/// The number after the colon of a rule, if it is one from 1 to `most`.
bool read_number(const std::string& rule, std::int64_t most, std::int64_t& number) {
  const char* const end = rule.data() + rule.size();
  const auto [stop, error] = std::from_chars(rule.data() + rule.find(':') + 1, end, number);
  return error == std::errc() && stop == end && number >= 1 && number <= most;
}

}  // namespace

Schedule::Schedule(const std::string& rule, std::int64_t sweeps) : kind_(Kind::end), sweeps_(sweeps) {
  constexpr std::int64_t most_an_octave = 1000;
  if (rule == "log" || rule.starts_with("log:")) {
    kind_ = Kind::log;
    if (rule != "log" && !read_number(rule, most_an_octave, step_)) {
      throw InvalidInput("--measure is " + rule + ": log:K takes a whole number K from 1 to " +
                         std::to_string(most_an_octave));
    }
  } else if (rule.starts_with("every:")) {
    kind_ = Kind::every;
    if (!read_number(rule, std::numeric_limits<std::int64_t>::max(), step_)) {
      throw InvalidInput("--measure is " + rule + ": every:N takes a whole number N >= 1");
    }
  } else if (rule != "end") {
    throw InvalidInput("--measure is " + rule + ": allowed are end, log, log:K and every:N");
  }
}

std::int64_t Schedule::after(std::int64_t time) const {
  if (kind_ == Kind::end) {
    return sweeps_;
  }
  if (time < 0) {
    return 0;
  }
  if (kind_ == Kind::every) {
    const std::int64_t past = time % step_;
    return time + std::min(step_ - past, sweeps_ - time);
  }
  // The first j with a larger 2^(j/K), begun a little before where it must be.
  const auto per_octave = static_cast<double>(step_);
  double j = time < 2 ? 0 : std::max(std::floor(per_octave * std::log2(static_cast<double>(time))) - 1, 0.0);
  std::int64_t next = 0;
  while ((next = std::llround(std::exp2(j / per_octave))) <= time) {
    ++j;
  }
  return std::min(next, sweeps_);
}

std::int64_t Schedule::count() const {
  if (kind_ == Kind::every) {
    return sweeps_ == 0 ? 1 : 1 + (sweeps_ - 1) / step_ + 1;
  }
  std::int64_t count = 1;
  for (std::int64_t time = first(); time < sweeps_; time = after(time)) {
    ++count;
  }
  return count;
}

}  // namespace psflip::spin_glass
