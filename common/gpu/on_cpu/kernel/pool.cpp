#include "pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "cluster.hpp"
#include "host_thread.hpp"
#include "observer.hpp"
#include "runtime/settings.hpp"

namespace cuda_on_cpu {
namespace {

/// Host threads that wait for a task and then all do it, the caller among them.
class Pool {
 public:
  static Pool& instance() {
    static Pool pool(settings().workers - 1);
    return pool;
  }

  explicit Pool(unsigned helpers) {
    try {
      while (helpers_.size() < helpers) helpers_.push_back(host_thread([this] { help(); }));
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Pool() { stop(); }

  void run(const std::function<void()>& task) {
    {
      const std::lock_guard lock(mutex_);
      task_ = &task;
      busy_ = helpers_.size();
      ++round_;
    }
    wake_.notify_all();
    task();
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
    helpers_.clear();
  }
  void help() {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      seen = round_;
      const std::function<void()>& task = *task_;
      lock.unlock();
      task();
      lock.lock();
      if (--busy_ == 0) all_done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, all_done_;
  const std::function<void()>* task_ = nullptr;
  std::uint64_t round_ = 0;
  std::size_t busy_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> helpers_;
};

/// The k-th block, or cluster of blocks, to run. Shuffled: k -> a k + c mod n, a permutation if a and n have no common
/// divisor.
class BlockOrder {
 public:
  explicit BlockOrder(std::uint64_t blocks) : blocks_(blocks) {
    if (settings().schedule == Schedule::reversed) {
      factor_ = offset_ = blocks - 1;
    } else if (settings().schedule == Schedule::shuffled) {
      std::mt19937_64 random(settings().seed + blocks);
      offset_ = random() % blocks;
      do factor_ = 1 + random() % blocks;
      while (std::gcd(factor_, blocks) != 1);
    }
  }
  std::uint64_t operator[](std::uint64_t k) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(factor_) * k + offset_) % blocks_);
  }

 private:
  std::uint64_t blocks_, factor_ = 1, offset_ = 0;
};

}  // namespace

bool one_thread(uint3 grid, uint3 block) {
  for (const unsigned extent : {grid.x, grid.y, grid.z, block.x, block.y, block.z})
    if (extent != 1) return false;
  return true;
}

void run_grid(const Grid& grid) {
  const uint3 cluster = grid.cluster_extent,
              all{grid.extent.x / cluster.x, grid.extent.y / cluster.y, grid.extent.z / cluster.z};
  const std::uint64_t clusters = std::uint64_t{all.x} * all.y * all.z;
  const std::uint64_t blocks_in_cluster = std::uint64_t{cluster.x} * cluster.y * cluster.z;
  const std::uint64_t threads_in_block = std::uint64_t{grid.block_extent.x} * grid.block_extent.y * grid.block_extent.z;
  const unsigned at_once = blocks_in_cluster == 1 && !grid.cooperative
                               ? settings().workers
                               : clusters_at_once(blocks_in_cluster * threads_in_block);
  const bool ends_only = settings().ends_only;
  const std::uint64_t wanted = ends_only ? std::min<std::uint64_t>(clusters, 2) : clusters;
  const std::uint64_t share = std::max<std::uint64_t>(1, wanted / (at_once * 16));
  const BlockOrder order(clusters);
  std::atomic<std::uint64_t> taken = 0;
  std::atomic<unsigned> workers = 0;

  const auto run_all = [&](auto& runner) {
    runner.begin_launch(grid);
    for (;;) {
      const std::uint64_t first = taken.fetch_add(share, std::memory_order_relaxed);
      if (first >= wanted) break;
      for (std::uint64_t k = first; k < std::min(first + share, wanted); ++k) {
        const std::uint64_t c = ends_only ? k * (clusters - 1) : order[k];
        runner.run({static_cast<unsigned>(c % all.x) * cluster.x, static_cast<unsigned>(c / all.x % all.y) * cluster.y,
                    static_cast<unsigned>(c / all.x / all.y) * cluster.z});
      }
    }
    runner.end_launch();
  };
  static std::mutex one_grid_at_a_time;
  std::unique_lock lock(one_grid_at_a_time, std::defer_lock);
  if (grid.cooperative || !one_thread(grid.extent, grid.block_extent)) lock.lock();
  if (observer != nullptr) observer->launch_begins(grid);
  const auto* cluster_runners = blocks_in_cluster > 1 || grid.cooperative ? &ClusterRunner::take(at_once) : nullptr;
  // Who fails in the middle of a block ends the program: there is no way out of threads that wait for each other.
  const auto work = [&]() noexcept {
    const unsigned worker = workers.fetch_add(1, std::memory_order_relaxed);
    if (worker >= at_once) return;
    if (cluster_runners != nullptr) {
      run_all(*(*cluster_runners)[worker]);
    } else {
      static thread_local Block block;
      run_all(block);
    }
  };
  if (clusters == 1 || at_once == 1)
    work();
  else
    Pool::instance().run(work);
  if (observer != nullptr) observer->launch_ends(grid);
}

}  // namespace cuda_on_cpu
