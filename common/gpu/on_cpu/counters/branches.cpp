#include "branches.hpp"

#include <algorithm>
#include <bit>

#include "request.hpp"

namespace cuda_on_cpu::counters {

void BranchTotals::add(const BranchTotals& other) {
  executed += other.executed;
  divergent += other.divergent;
  lanes += other.lanes;
}

void Branches::join(unsigned threads) {
  threads_ = threads;
  warps_ = (threads + lanes_per_warp - 1) / lanes_per_warp;
  condition_.assign(threads, 0);
  cached_.assign(cache_entries, {});
  sites_.clear();
  touched_.clear();
}

void Branches::leave(BranchMap& totals) {
  for (const auto& [code, site] : sites_) totals[code].add(site->totals);
  sites_.clear();
}

void Branches::decides(unsigned thread, std::uintptr_t code, std::uintptr_t target) {
  Cached& cached = cached_[(code ^ code >> 8) % cache_entries];
  if (cached.code != code) {
    std::unique_ptr<Site>& found = sites_[code];
    if (!found) {
      found = std::make_unique<Site>();
      found->times.resize(threads_);
    }
    cached = {code, found.get()};
  }
  Site& site = *cached.site;
  const std::size_t index = std::size_t{site.times[thread]++} * warps_ + thread / lanes_per_warp;
  if (site.used == 0) touched_.push_back(&site);
  if (index >= site.used) {
    if (index >= site.executions.size()) site.executions.resize(index / warps_ * warps_ + warps_);
    site.used = index + 1;
  }
  Execution& execution = site.executions[index];
  const std::uint32_t lane = 1u << thread % lanes_per_warp;
  if (execution.active == 0) execution.target = target;
  execution.active |= lane;
  if (execution.target != target) execution.elsewhere |= lane;
}

void Branches::count() {
  for (Site* site : touched_) {
    for (std::size_t i = 0; i < site->used; ++i) {
      Execution& execution = site->executions[i];
      if (execution.active == 0) continue;
      ++site->totals.executed;
      site->totals.divergent += execution.elsewhere != 0;
      site->totals.lanes += static_cast<unsigned>(std::popcount(execution.active));
      execution = {};
    }
    site->used = 0;
    std::fill(site->times.begin(), site->times.end(), 0);
  }
  touched_.clear();
}

}  // namespace cuda_on_cpu::counters
