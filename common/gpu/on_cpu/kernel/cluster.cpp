#include "cluster.hpp"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>

#include "fiber.hpp"
#include "host_thread.hpp"
#include "runtime/settings.hpp"

namespace cuda_on_cpu {
namespace {

// What waits at once takes memory; and ThreadSanitizer bears 8128 threads.
constexpr std::uint64_t most_threads_at_once = one_thread_per_fiber ? 2048 : 8192;  // but for one cluster
constexpr std::uint64_t most_fibers_kept = most_threads_at_once * 3 / 2;

}  // namespace

std::uint64_t most_cooperative_threads() { return most_threads_at_once; }

/// A host thread with a block, on which others do work while they wait.
class ClusterRunner::HostThread {
 public:
  HostThread() : thread_(host_thread([this] { live(); })) {
    run([](Block&) {});  // until there is a block
  }
  ~HostThread() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void run(const std::function<void(Block&)>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    changed_.notify_one();
    changed_.wait(lock, [this] { return work_ == nullptr; });
  }
  Block& block() { return *block_; }

 private:
  void live() {
    Block block;
    block_ = &block;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return work_ != nullptr || ending_; });
      if (ending_) return;
      (*work_)(block);
      work_ = nullptr;
      changed_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(Block&)>* work_ = nullptr;
  bool ending_ = false;
  Block* block_ = nullptr;
  std::thread thread_;  // the last member: it uses the others
};

ClusterRunner::ClusterRunner() : random_(settings().seed) {}
ClusterRunner::~ClusterRunner() = default;

void ClusterRunner::begin_launch(const Grid& grid) {
  cluster_.begin_launch(grid.cooperative);
  extent_ = grid.cluster_extent;
  const std::size_t blocks = std::size_t{extent_.x} * extent_.y * extent_.z;
  while (host_threads_.size() < blocks) host_threads_.push_back(std::make_unique<HostThread>());
  for (std::size_t rank = 0; rank < blocks; ++rank) {
    host_threads_[rank]->run([&](Block& block) { block.begin_launch(grid); });
    cluster_.blocks.push_back(&host_threads_[rank]->block());
  }
}

void ClusterRunner::run(uint3 first) {
  // Every block begins before a thread runs: ThreadSanitizer then knows of no order between threads of different
  // blocks.
  cluster_.where.reset();
  std::vector<unsigned> left(cluster_.blocks.size());
  std::iota(left.begin(), left.end(), 0u);
  const unsigned none = static_cast<unsigned>(left.size());
  for (const unsigned rank : left) {
    const uint3 index{first.x + rank % extent_.x, first.y + rank / extent_.x % extent_.y,
                      first.z + rank / extent_.x / extent_.y};
    host_threads_[rank]->run([&](Block& block) { block.begin(index, &cluster_, rank); });
  }
  if (settings().schedule == Schedule::reversed) std::reverse(left.begin(), left.end());

  while (!left.empty()) {
    if (settings().schedule == Schedule::shuffled) std::shuffle(left.begin(), left.end(), random_);
    const std::size_t before = left.size();
    std::size_t returned = 0;
    for (unsigned& rank : left) {
      host_threads_[rank]->run([&](Block& block) {
        if (!block.go_on()) return;
        block.end();
        if (++returned < before) block.give_up_shared_memory();
        rank = none;
      });
    }
    std::erase(left, none);
    if (!left.empty() && !cluster_.open_barrier() && !cluster_.wake()) cluster_.die_of_deadlock();
  }
}

void ClusterRunner::end_launch() {
  for (std::size_t rank = 0; rank < cluster_.blocks.size(); ++rank)
    host_threads_[rank]->run([](Block& block) { block.end_launch(); });
}

const std::vector<std::unique_ptr<ClusterRunner>>& ClusterRunner::take(unsigned count) {
  static std::vector<std::unique_ptr<ClusterRunner>> runners;
  if (Fiber::count() > most_fibers_kept) runners.clear();
  while (runners.size() < count) runners.push_back(std::make_unique<ClusterRunner>());
  return runners;
}

unsigned clusters_at_once(std::uint64_t threads_in_cluster) {
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(most_threads_at_once / threads_in_cluster, 1, settings().workers));
}

}  // namespace cuda_on_cpu
