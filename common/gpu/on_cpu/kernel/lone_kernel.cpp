#include "lone_kernel.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "host_thread.hpp"

namespace cuda_on_cpu {
namespace {

constexpr unsigned longest_sleep = 1'000'000;  // ns, as in CUDA

/// A host thread that runs one kernel after the other.
class Runner {
 public:
  Runner() {
    host_thread([this] { work(); }).detach();
  }  // it may still wait when the program ends

  bool run(std::function<void()> kernel, std::function<void()> ended) {
    std::unique_lock lock(mutex_);
    kernel_ = std::move(kernel);
    ended_ = std::move(ended);
    state_ = State::running;
    changed_.notify_all();
    changed_.wait(lock, [this] { return state_ != State::running; });
    if (state_ == State::waiting) left_alone_ = true;
    return !left_alone_;
  }
  void kernel_waits() {
    const std::lock_guard lock(mutex_);
    if (state_ != State::running) return;
    state_ = State::waiting;
    changed_.notify_all();
  }

 private:
  enum class State { idle, running, waiting };
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::idle;
  bool left_alone_ = false;  ///< run() has returned and the kernel has not
  std::function<void()> kernel_, ended_;
};

/// Those that have no kernel.
struct IdleRunners {
  std::mutex mutex;
  std::vector<Runner*> all;

  // never destroyed: runners may outlive static objects
  static IdleRunners& instance() {
    static IdleRunners& runners = *new IdleRunners;
    return runners;
  }
  Runner* take() {
    const std::lock_guard lock(mutex);
    if (all.empty()) return new Runner;
    Runner* runner = all.back();
    all.pop_back();
    return runner;
  }
  void put(Runner* runner) {
    const std::lock_guard lock(mutex);
    all.push_back(runner);
  }
};

thread_local Runner* runner_of_this_thread = nullptr;

void Runner::work() {
  runner_of_this_thread = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return state_ == State::running; });
    lock.unlock();
    kernel_();
    kernel_ = nullptr;
    lock.lock();
    const auto ended = std::exchange(ended_, nullptr);
    state_ = State::idle;
    changed_.notify_all();
    if (!std::exchange(left_alone_, false)) continue;
    lock.unlock();
    ended();
    IdleRunners::instance().put(this);
    lock.lock();
  }
}

}  // namespace

bool run_lone_kernel(std::function<void()> kernel, std::function<void()> ended) {
  Runner* runner = IdleRunners::instance().take();
  if (!runner->run(std::move(kernel), std::move(ended))) return false;
  IdleRunners::instance().put(runner);
  return true;
}

void sleep_in_kernel(unsigned nanoseconds) {
  if (runner_of_this_thread != nullptr) runner_of_this_thread->kernel_waits();
  std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(nanoseconds, longest_sleep)));
}

}  // namespace cuda_on_cpu
