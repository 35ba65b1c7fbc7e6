#pragma once

#include <algorithm>
#include <vector>

#include "gpu/check.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// The device's own clock, by events in the default stream.
class Timer {
 public:
  Timer() {
    CHECK_CUDA(cudaEventCreate(&start_));
    CHECK_CUDA(cudaEventCreate(&stop_));
  }
  ~Timer() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void start() { CHECK_CUDA(cudaEventRecord(start_)); }
  /// Waits for the work since start(). Returns its seconds.
  double stop() {
    float milliseconds = 0;
    CHECK_CUDA(cudaEventRecord(stop_));
    CHECK_CUDA(cudaEventSynchronize(stop_));
    CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

/// Seconds that `work` takes on the current device: the median of so many runs, after one to warm up.
template <class Work>
double median_seconds(int repetitions, Work work) {
  Timer timer;
  std::vector<double> seconds;
  for (int i = 0; i < repetitions + 1; ++i) {
    timer.start();
    work();
    seconds.push_back(timer.stop());
  }
  seconds.erase(seconds.begin());
  const auto middle = seconds.begin() + repetitions / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace psflip::PSFLIP_PLATFORM
