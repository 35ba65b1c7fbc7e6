#include "gpu/choice/fastest.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace psflip {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// What is known while candidates are tried.
class Trials {
 public:
  Trials(std::size_t candidates, double budget, const Try& run, const std::function<double()>& clock)
      : run_(run), clock_(clock), begin_(clock()), budget_(budget), least_(candidates, never) {}

  double least(std::size_t candidate) const { return least_[candidate]; }
  double best() const { return *std::ranges::min_element(least_); }
  double took() const { return clock_() - begin_; }
  /// Those that take no more than so many times the least, fastest first.
  std::vector<std::size_t> within(double factor) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < least_.size(); ++i)
      if (least_[i] < never && least_[i] <= factor * best()) found.push_back(i);
    std::ranges::stable_sort(found, {}, [&](std::size_t i) { return least_[i]; });
    return found;
  }

  /// False if there is no time left for another trial.
  bool run(std::size_t candidate, double seconds) {
    const double before = took();
    if (before + longest_ > budget_) return false;
    const double awake = std::exchange(waking_, 0);
    if (const auto measured = run_(candidate, std::max(awake, seconds)))
      least_[candidate] = std::min(least_[candidate], *measured);
    longest_ = std::max(longest_, took() - before - awake);
    return true;
  }

 private:
  const Try& run_;
  const std::function<double()>& clock_;
  double begin_, budget_, longest_ = 0, waking_ = first_seconds;
  std::vector<double> least_;  ///< of each candidate
};

/// All trials that there is time for. False if that was not enough.
bool try_all(const std::vector<Candidate>& candidates, Trials& trials) {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return candidates[i].expected; });
  const double most = plausible * candidates[order.front()].expected;
  std::set<int> seen;
  for (const std::size_t i : order)
    if (candidates[i].expected <= most && seen.insert(candidates[i].group).second)
      if (!trials.run(i, brief_seconds)) return false;
  for (const std::size_t first : trials.within(fast_group))
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (candidates[i].group == candidates[first].group && i != first)
        if (!trials.run(i, brief_seconds)) return false;
  std::vector<std::size_t> finalists = trials.within(close_to_best);
  finalists.resize(std::min<std::size_t>(finalists.size(), most_finalists));
  for (int pass = 0; pass < 2 && finalists.size() > 1; ++pass)
    for (const std::size_t i : finalists)
      if (!trials.run(i, long_seconds)) return false;
  return true;
}

}  // namespace

Fastest fastest(const std::vector<Candidate>& candidates, double budget, const Try& run,
                const std::function<double()>& clock) {
  Trials trials(candidates.size(), budget, run, clock);
  const bool complete = try_all(candidates, trials);
  Fastest result{0, 0, trials.best(), trials.took(), complete};
  for (std::size_t i = 0; i < candidates.size(); ++i) result.tried += trials.least(i) < never;
  const auto by = [&](std::size_t i) { return result.tried > 0 ? trials.least(i) : candidates[i].expected; };
  for (std::size_t i = 1; i < candidates.size(); ++i)
    if (by(i) < by(result.candidate)) result.candidate = i;
  return result;
}

}  // namespace psflip
