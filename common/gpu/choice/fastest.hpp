/// Which of several ways to do the same work is fastest: by trying them, in little time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace psflip {

/// One of the ways.
struct Candidate {
  double expected;  ///< seconds for a unit of work, as a model has them
  int group;        ///< the first of a group stands for the others until it turns out to be fast
};

/// Runs a candidate for about so many seconds. Returns how many a unit of work took, or nothing if this candidate
/// cannot be had after all.
using Try = std::function<std::optional<double>(std::size_t candidate, double seconds)>;

struct Fastest {
  std::size_t candidate;
  int tried;       ///< candidates that could be timed; 0: none, and the candidate is the one that was expected
  double seconds;  ///< of the fastest, for a unit of work
  double took;     ///< seconds for all trials
  bool complete;   ///< none was left out for lack of time
};

/// The fastest of one or more candidates. `clock` says how late it is, in seconds.
///
/// Trials take `budget` seconds. One is begun only if the longest so far would still fit. They go by what is expected,
/// so that the likely ones have been tried when the time is up:
/// 1. briefly, the first of every group that is expected to take no more than `plausible` times the least;
/// 2. briefly, the others of the groups that took no more than `fast_group` times the least;
/// 3. longer, and twice, the few that take no more than `close_to_best` times the least then.
///
/// The least time of a candidate counts: whatever disturbs a trial makes it longer.
Fastest fastest(const std::vector<Candidate>& candidates, double budget, const Try& run,
                const std::function<double()>& clock);

inline constexpr double plausible = 4;
inline constexpr double fast_group = 1.6;
inline constexpr double close_to_best = 1.3;
inline constexpr int most_finalists = 8;
inline constexpr double first_seconds = 0.05;  ///< of the first trial: until then a device may be idling
inline constexpr double brief_seconds = 0.003;
inline constexpr double long_seconds = 0.01;

}  // namespace psflip
