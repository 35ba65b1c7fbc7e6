/// What a rank does when: ranges for a profiler (NVTX), and times for a picture.
#pragma once

#include <cstddef>
#include <vector>

#include "08_mpi/engine.hpp"
#include "gpu/check.hpp"

#if defined(__CUDACC__) && __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define PSFLIP_NVTX 1
#endif

namespace psflip::PSFLIP_PLATFORM {

/// Records the parts while it is asked to. They cost an event each, so that timings are taken without.
class Timeline {
 public:
  ~Timeline() { clear(); }
  Timeline() = default;
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  void start() {
    clear();
    recording_ = true;
    zero_ = mark(nullptr);
  }
  /// What was done since start(), when the device has done it.
  std::vector<Part> stop() {
    CHECK_CUDA(cudaDeviceSynchronize());
    std::vector<Part> parts;
    for (const Marks& part : marks_) parts.push_back({part.name, seconds(part.begin), seconds(part.end)});
    clear();
    return parts;
  }

  /// From its making to its end: work that is given to a stream meanwhile is a part of this name.
  class Span {
   public:
    Span(Timeline& timeline, const char* name, cudaStream_t stream)
        : timeline_(timeline), stream_(stream), number_(timeline.marks_.size()) {
#ifdef PSFLIP_NVTX
      nvtxRangePushA(name);
#endif
      if (timeline.recording_) timeline.marks_.push_back({name, mark(stream), nullptr});
    }
    ~Span() noexcept(false) {
      if (timeline_.recording_) timeline_.marks_[number_].end = mark(stream_);
#ifdef PSFLIP_NVTX
      nvtxRangePop();
#endif
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Timeline& timeline_;
    cudaStream_t stream_;
    std::size_t number_;
  };

 private:
  struct Marks {
    const char* name;
    cudaEvent_t begin, end;
  };

  static cudaEvent_t mark(cudaStream_t stream) {
    cudaEvent_t event = nullptr;
    CHECK_CUDA(cudaEventCreate(&event));
    CHECK_CUDA(cudaEventRecord(event, stream));
    return event;
  }
  double seconds(cudaEvent_t event) const {
    float milliseconds = 0;
    CHECK_CUDA(cudaEventElapsedTime(&milliseconds, zero_, event));
    return milliseconds * 1e-3;
  }
  void clear() {
    recording_ = false;
    for (const Marks& part : marks_) {
      cudaEventDestroy(part.begin);
      cudaEventDestroy(part.end);
    }
    marks_.clear();
    if (zero_ != nullptr) cudaEventDestroy(zero_);
    zero_ = nullptr;
  }

  bool recording_ = false;
  cudaEvent_t zero_ = nullptr;
  std::vector<Marks> marks_;
};

}  // namespace psflip::PSFLIP_PLATFORM
