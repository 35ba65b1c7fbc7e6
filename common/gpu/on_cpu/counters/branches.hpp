/// Where the lanes of a warp part: what compares and what follows, as the compiler's coverage instrumentation tells.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cuda_on_cpu::counters {

/// What a conditional branch adds up to: executions by a warp, of these such whose lanes did not all go to one place,
/// and lanes.
struct BranchTotals {
  std::uint64_t executed = 0, divergent = 0, lanes = 0;

  void add(const BranchTotals& other);
};
using BranchMap = std::map<std::uintptr_t, BranchTotals>;  ///< by the place in the code of its condition

/// The branches of the blocks that one host thread runs. A comparison after which a basic block begins is a branch; the
/// lanes of a warp that come to it for the same time since the block's last barrier execute it together.
class Branches {
 public:
  void join(unsigned threads);
  void leave(BranchMap& totals);

  /// The thread evaluates a condition; the basic block at `code` begins.
  /// (Before the first thread of a block has begun, the number may be of one of an earlier launch.)
  void compares(unsigned thread, std::uintptr_t code) {
    if (thread < threads_) condition_[thread] = code;
  }
  void begins(unsigned thread, std::uintptr_t code) {
    if (thread < threads_ && condition_[thread] != 0) decides(thread, std::exchange(condition_[thread], 0), code);
  }
  /// All threads have come to a barrier, or to the end.
  void count();

 private:
  struct Execution {
    std::uint32_t active = 0, elsewhere = 0;  ///< lanes; those that did not go where the first one went
    std::uintptr_t target = 0;
  };
  struct Site {
    BranchTotals totals;
    std::vector<unsigned> times;        ///< by thread: how often it was here since the last barrier
    std::vector<Execution> executions;  ///< [times * warps + warp], not counted yet
    std::size_t used = 0;               ///< of them
  };
  struct Cached {
    std::uintptr_t code = 0;
    Site* site = nullptr;
  };
  void decides(unsigned thread, std::uintptr_t code, std::uintptr_t target);

  static constexpr std::size_t cache_entries = 1024;
  unsigned threads_ = 0, warps_ = 0;
  std::vector<std::uintptr_t> condition_;  ///< by thread: that it has evaluated and not gone on from
  std::unordered_map<std::uintptr_t, std::unique_ptr<Site>> sites_;
  std::vector<Cached> cached_;
  std::vector<Site*> touched_;
};

}  // namespace cuda_on_cpu::counters
