/// Launches that are recorded once, and then started together.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "gpu/check.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// A launch costs a host two microseconds or three, which is more than a half-sweep of a small system takes. A graph is
/// one launch, whatever it contains.
class Graph {
 public:
  Graph() = default;
  /// What record(stream) launches in the stream.
  template <class Record>
  explicit Graph(Record record) {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    record(stream);
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&executable_, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
    CHECK_CUDA(cudaStreamDestroy(stream));
  }
  ~Graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }
  Graph(Graph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }

  explicit operator bool() const { return executable_ != nullptr; }
  /// In the default stream.
  void launch() { CHECK_CUDA(cudaGraphLaunch(executable_, nullptr)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace psflip::PSFLIP_PLATFORM
