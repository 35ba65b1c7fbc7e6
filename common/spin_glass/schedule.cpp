#include "spin_glass/schedule.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>

#include "app/invalid_input.hpp"

namespace psflip::spin_glass {

Schedule::Schedule(const std::string& rule, std::int64_t sweeps) : kind_(Kind::end), sweeps_(sweeps) {
  constexpr std::string_view every = "every:";
  if (rule == "log") {
    kind_ = Kind::log;
  } else if (rule.starts_with(every)) {
    kind_ = Kind::every;
    const char* const end = rule.data() + rule.size();
    const auto [stop, error] = std::from_chars(rule.data() + every.size(), end, step_);
    if (error != std::errc() || stop != end || step_ < 1) {
      throw InvalidInput("--measure is " + rule + ": every:N takes a whole number N >= 1");
    }
  } else if (rule != "end") {
    throw InvalidInput("--measure is " + rule + ": allowed are end, log and every:N");
  }
}

std::int64_t Schedule::first() const { return kind_ == Kind::end ? sweeps_ : 0; }

std::int64_t Schedule::after(std::int64_t time) const {
  const std::int64_t left = sweeps_ - time;
  const std::int64_t step = kind_ == Kind::log ? std::max<std::int64_t>(time, 1) : step_;
  return time + std::min(step, left);
}

std::int64_t Schedule::count() const {
  if (kind_ == Kind::end || sweeps_ == 0) {
    return 1;
  }
  if (kind_ == Kind::every) {
    return 1 + (sweeps_ - 1) / step_ + 1;
  }
  return 1 + std::bit_width(static_cast<std::uint64_t>(sweeps_ - 1)) + 1;  // 0; 1, 2, 4, ... < sweeps; sweeps
}

}  // namespace psflip::spin_glass
