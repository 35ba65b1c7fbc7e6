#include "spin_glass/model/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "app/invalid_input.hpp"
#include "app/text.hpp"

namespace psflip::spin_glass {
namespace {

/// The number after the colon of a rule. Throws InvalidInput unless it is one from 1 to `most`.
std::int64_t number_of(const std::string& rule, std::int64_t most, const std::string& allowed) {
  const auto number = number_in<std::int64_t>(std::string_view(rule).substr(rule.find(':') + 1));
  if (!number || *number < 1 || *number > most) throw InvalidInput("--measure is " + rule + ": " + allowed);
  return *number;
}

}  // namespace

Schedule::Schedule(const std::string& rule, std::int64_t sweeps) : kind_(Kind::end), sweeps_(sweeps) {
  if (rule == "log" || rule.starts_with("log:")) {
    kind_ = Kind::log;
    if (rule != "log") step_ = number_of(rule, 1000, "log:K takes a whole number K from 1 to 1000");
  } else if (rule.starts_with("every:")) {
    kind_ = Kind::every;
    step_ = number_of(rule, std::numeric_limits<std::int64_t>::max(), "every:N takes a whole number N >= 1");
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
