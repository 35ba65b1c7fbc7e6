#include "streams.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "device.hpp"
#include "memory.hpp"
#include "settings.hpp"
#include "symbols.hpp"

namespace cuda_on_cpu {
namespace {

/// One piece of stream work, and the pieces that come before it.
struct Work {
  std::function<void()> action;
  std::vector<std::shared_ptr<Work>> before;
  bool done = false;
  std::chrono::steady_clock::time_point end{};

  bool ready() const {
    for (const auto& work : before)
      if (!work->done) return false;
    return true;
  }
};
using WorkPtr = std::shared_ptr<Work>;

}  // namespace

struct Graph {
  std::vector<std::function<void()>> actions;
  bool valid = true;  ///< no call broke the rules of the capture
};
struct ExecutableGraph {
  std::shared_ptr<const Graph> graph;
};

struct Stream {
  int device = 0;
  unsigned flags = cudaStreamDefault;
  WorkPtr last;                    ///< null if nothing was ever put in
  std::unique_ptr<Graph> capture;  ///< null unless a capture is going on
};

struct Event {
  int device = 0;
  unsigned flags = cudaEventDefault;
  WorkPtr record;  ///< null if never recorded
};

namespace {

/// Everything that was put into streams and has not run.
class Queue {
 public:
  // never destroyed: host threads may end after static objects do
  static Queue& instance() {
    static Queue& queue = *new Queue;
    return queue;
  }

  std::recursive_mutex mutex;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<Graph*> graphs;
  std::set<ExecutableGraph*> executables;

  Stream& resolve(cudaStream_t stream) { return stream == nullptr ? legacy_[current_device()] : *stream; }

  /// Puts a piece of work behind what the stream holds, and behind `also`.
  WorkPtr add(cudaStream_t handle, std::function<void()> action, const WorkPtr& also = nullptr) {
    Stream& stream = resolve(handle);
    auto work = std::make_shared<Work>();
    work->action = std::move(action);
    const auto after = [&](const WorkPtr& other) {
      if (other && !other->done) work->before.push_back(other);
    };
    after(stream.last);
    after(also);
    // The default stream and the device's other streams wait for each other, unless those were made not to.
    if (handle == nullptr) {
      for (const Stream* other : streams)
        if (other->device == stream.device && other->flags != cudaStreamNonBlocking) after(other->last);
    } else if (stream.flags != cudaStreamNonBlocking) {
      after(legacy_[stream.device].last);
    }
    stream.last = work;
    if (settings().lazy_streams)
      waiting_.push_back(work);
    else
      run(*work);
    return work;
  }

  void finish(const WorkPtr& work) {
    while (work && !work->done) run_any();
  }
  void finish_device(int device) {
    finish(legacy_[device].last);
    for (const Stream* stream : std::set(streams))
      if (stream->device == device) finish(stream->last);
  }
  /// For queries: a program that polls must get somewhere.
  bool poll(const WorkPtr& work) {
    if (work && !work->done) run_any();
    return !work || work->done;
  }

 private:
  void run(Work& work) {
    work.action();
    work.action = nullptr;
    work.before.clear();
    work.end = std::chrono::steady_clock::now();
    work.done = true;
  }
  /// Runs a piece of work that may run now, any of them. There always is one: work waits only for older work.
  void run_any() {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < waiting_.size(); ++i)
      if (waiting_[i]->ready()) ready.push_back(i);
    const std::size_t choice = ready[random_() % ready.size()];
    const WorkPtr work = waiting_[choice];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(choice));
    run(*work);
  }

  std::vector<Stream> legacy_ = [] {
    std::vector<Stream> all(static_cast<std::size_t>(settings().devices));
    for (int i = 0; i < settings().devices; ++i) all[i].device = i;
    return all;
  }();
  std::vector<WorkPtr> waiting_;
  std::mt19937_64 random_{settings().seed};
};

Queue& queue() { return Queue::instance(); }
using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

cudaError_t check_stream(cudaStream_t stream) {
  const Lock lock(queue().mutex);
  if (stream != nullptr && !queue().streams.contains(stream)) return cudaErrorInvalidResourceHandle;
  if (stream != nullptr)
    return stream->capture && !stream->capture->valid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
  // work in the default stream would have to wait for what is not being done
  cudaError_t error = cudaSuccess;
  for (const Stream* other : queue().streams) {
    if (other->device != current_device() || other->flags == cudaStreamNonBlocking || !other->capture) continue;
    other->capture->valid = false;
    error = cudaErrorStreamCaptureImplicit;
  }
  return error;
}

bool capturing(cudaStream_t stream) {
  const Lock lock(queue().mutex);
  return queue().resolve(stream).capture != nullptr;
}

namespace {

/// Why nobody can wait for a stream. Who tries while it captures, spoils the capture.
cudaError_t check_wait(cudaStream_t stream) {
  if (const cudaError_t error = check_stream(stream)) return error;
  if (!capturing(stream)) return cudaSuccess;
  stream->capture->valid = false;
  return cudaErrorStreamCaptureUnsupported;
}

}  // namespace

int device_of(cudaStream_t stream) {
  const Lock lock(queue().mutex);
  return queue().resolve(stream).device;
}

void enqueue(cudaStream_t stream, std::function<void()> action) {
  const Lock lock(queue().mutex);
  if (const auto& capture = queue().resolve(stream).capture)
    capture->actions.push_back(std::move(action));
  else
    queue().add(stream, std::move(action));
}

void enqueue_kernel(cudaStream_t stream, std::function<void()> action) {
  const Lock lock(queue().mutex);
  const int device = queue().resolve(stream).device;
  enqueue(stream, [device, run = std::move(action)] {
    const DeviceMemoryAccess access(device);
    load_symbols(device);
    run();
  });
}

void finish(cudaStream_t stream) {
  const Lock lock(queue().mutex);
  queue().finish(queue().resolve(stream).last);
}

void finish_device(int device) {
  const Lock lock(queue().mutex);
  queue().finish_device(device);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags > cudaStreamNonBlocking) return report(cudaErrorInvalidValue);
  const Lock lock(queue().mutex);
  *stream = new Stream{.device = current_device(), .flags = flags, .last = {}, .capture = {}};
  queue().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(queue().mutex);
  if (!queue().streams.contains(stream)) return report(cudaErrorInvalidResourceHandle);
  queue().finish(stream->last);  // CUDA lets it drain in the background; nobody can tell
  queue().streams.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(queue().mutex);
  if (const cudaError_t error = check_wait(stream)) return report(error);
  finish(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Lock lock(queue().mutex);
  if (const cudaError_t error = check_wait(stream)) return report(error);
  return queue().poll(queue().resolve(stream).last) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(queue().mutex);
  if (const cudaError_t error = check_stream(stream)) return report(error);
  if (capturing(stream)) return report(cudaErrorStreamCaptureUnsupported);  // CUDA captures events too
  if (!queue().events.contains(event)) return report(cudaErrorInvalidResourceHandle);
  queue().add(
      stream, [] {}, event->record);  // the record of now: a later one changes nothing for this wait
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* argument) {
  if (const cudaError_t error = check_stream(stream)) return report(error);
  enqueue(stream, [=] { function(argument); });
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const Lock lock(queue().mutex);
  for (Stream* stream : queue().streams)
    if (stream->device == current_device() && stream->capture) return report(check_wait(stream));
  finish_device(current_device());
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const Lock lock(queue().mutex);
  *event = new Event{.device = current_device(), .flags = flags, .record = {}};
  queue().events.insert(*event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(queue().mutex);
  if (!queue().events.contains(event)) return report(cudaErrorInvalidResourceHandle);
  queue().events.erase(event);  // what waits for its records goes on doing so
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(queue().mutex);
  if (const cudaError_t error = check_stream(stream)) return report(error);
  if (capturing(stream)) return report(cudaErrorStreamCaptureUnsupported);  // CUDA captures events too
  if (!queue().events.contains(event) || event->device != queue().resolve(stream).device)
    return report(cudaErrorInvalidResourceHandle);
  event->record = queue().add(stream, [] {});
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(queue().mutex);
  if (!queue().events.contains(event)) return report(cudaErrorInvalidResourceHandle);
  queue().finish(event->record);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Lock lock(queue().mutex);
  if (!queue().events.contains(event)) return report(cudaErrorInvalidResourceHandle);
  return queue().poll(event->record) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const Lock lock(queue().mutex);
  for (const cudaEvent_t event : {start, end})
    if (!queue().events.contains(event) || event->flags & cudaEventDisableTiming || !event->record)
      return report(cudaErrorInvalidResourceHandle);
  if (start->device != end->device) return report(cudaErrorInvalidResourceHandle);
  if (!start->record->done || !end->record->done) return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(end->record->end - start->record->end).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(queue().mutex);
  if (stream == nullptr) return report(cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t error = check_stream(stream)) return report(error);
  if (stream->capture) return report(cudaErrorIllegalState);
  stream->capture = std::make_unique<Graph>();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(queue().mutex);
  *graph = nullptr;
  if (!queue().streams.contains(stream)) return report(cudaErrorInvalidResourceHandle);
  if (!stream->capture) return report(cudaErrorIllegalState);
  auto captured = std::move(stream->capture);
  if (!captured->valid) return report(cudaErrorStreamCaptureInvalidated);
  *graph = captured.release();
  queue().graphs.insert(*graph);
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Lock lock(queue().mutex);
  if (const cudaError_t error = check_stream(stream);
      error != cudaSuccess && error != cudaErrorStreamCaptureInvalidated)
    return report(error);
  const auto& capture = queue().resolve(stream).capture;
  *status = !capture         ? cudaStreamCaptureStatusNone
            : capture->valid ? cudaStreamCaptureStatusActive
                             : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  const Lock lock(queue().mutex);
  if (!queue().graphs.contains(graph) || flags != 0) return report(cudaErrorInvalidValue);
  *executable = new ExecutableGraph{std::make_shared<const Graph>(*graph)};
  queue().executables.insert(*executable);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(queue().mutex);
  if (!queue().executables.contains(executable)) return report(cudaErrorInvalidValue);
  if (const cudaError_t error = check_stream(stream)) return report(error);
  enqueue(stream, [graph = executable->graph] {
    for (const auto& action : graph->actions) action();
  });
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const Lock lock(queue().mutex);
  if (queue().executables.erase(executable) == 0) return report(cudaErrorInvalidValue);
  delete executable;  // what was launched holds the graph
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Lock lock(queue().mutex);
  if (queue().graphs.erase(graph) == 0) return report(cudaErrorInvalidValue);
  delete graph;
  return cudaSuccess;
}

}  // namespace cuda_on_cpu
