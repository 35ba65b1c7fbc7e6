#include "streams.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "device.hpp"
#include "kernel/lone_kernel.hpp"
#include "memory.hpp"
#include "settings.hpp"
#include "symbols.hpp"

namespace cuda_on_cpu {
namespace {

constexpr int least_priority = 0, greatest_priority = -5;  // as on NVIDIA's GPUs; the smaller number comes first

struct Task {
  std::function<void()> action;
  bool may_wait = false;  ///< for what other work does
};

/// One piece of stream work, and the pieces that come before it.
struct Work {
  Task task;
  std::vector<std::shared_ptr<Work>> before;
  bool started = false, done = false;
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
  std::vector<Task> tasks;
  bool valid = true;  ///< no call broke the rules of the capture
};
struct ExecutableGraph {
  Graph graph;
};

struct Stream {
  int device = 0;
  unsigned flags = cudaStreamDefault;
  int priority = least_priority;
  WorkPtr last;                    ///< null if nothing was ever put in
  std::unique_ptr<Graph> capture;  ///< null unless a capture is going on
};

struct Event {
  int device = 0;
  unsigned flags = cudaEventDefault;
  WorkPtr record;  ///< null if never recorded
};

namespace {

/// Everything that was put into streams and has not ended.
class Queue {
 public:
  // never destroyed: host threads may end after static objects do
  static Queue& instance() {
    static Queue& queue = *new Queue;
    return queue;
  }

  // A host thread may lock it several times. Whoever waits for progress gives it away altogether.
  void lock() {
    mutex_.lock();
    ++depth_;
  }
  void unlock() {
    --depth_;
    mutex_.unlock();
  }

  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<Graph*> graphs;
  std::set<ExecutableGraph*> executables;

  Stream& resolve(cudaStream_t stream) { return stream == nullptr ? legacy_[current_device()] : *stream; }

  /// Puts a piece of work behind what the stream holds, and behind `also`.
  WorkPtr add(cudaStream_t handle, Task task, const WorkPtr& also = nullptr) {
    Stream& stream = resolve(handle);
    auto work = std::make_shared<Work>();
    work->task = std::move(task);
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
    if (settings().lazy_streams || !work->ready()) {
      waiting_.push_back(work);
      progress_.notify_all();  // it may be what a waiting kernel waits for
    } else {
      run(work);
    }
    return work;
  }

  void finish(const WorkPtr& work) { finish(std::vector{work}); }
  void finish_device(int device) {
    std::vector<WorkPtr> last = {legacy_[device].last};
    for (const Stream* stream : streams)
      if (stream->device == device) last.push_back(stream->last);
    finish(last);
  }
  /// For queries: a program that polls must get somewhere.
  bool poll(const WorkPtr& work) {
    if (work && !work->done && !run_one({})) wait_for_progress(std::chrono::microseconds(50));
    return !work || work->done;
  }

 private:
  void run(const WorkPtr& work) {
    work->started = true;
    if (!work->task.may_wait) {
      const auto end_it = [this](Work* of) { end(*of); };
      const std::unique_ptr<Work, decltype(end_it)> ending(work.get(), end_it);  // even if the host has no room for it
      work->task.action();
      return;
    }
    const auto ended = [this, work] {
      const std::lock_guard lock(*this);
      end(*work);
      if (settings().lazy_streams) return;
      while (run_one({})) {
      }
    };
    if (run_lone_kernel(work->task.action, ended)) end(*work);
  }
  void end(Work& work) {
    work.task.action = nullptr;
    work.before.clear();
    work.end = std::chrono::steady_clock::now();
    work.done = true;
    progress_.notify_all();
  }

  /// Returns when all of these have ended. Lazy streams run either what these depend on and no more, or whatever may
  /// run: the one finds a reader that comes too early, the other a writer that does.
  void finish(const std::vector<WorkPtr>& wanted) {
    const auto pending = [](const WorkPtr& work) { return work && !work->done; };
    const bool no_more = settings().lazy_streams && random_() % 2 == 0;
    while (std::any_of(wanted.begin(), wanted.end(), pending)) {
      if (no_more && run_one(not_started(wanted))) continue;
      if (!run_one({})) wait_for_progress(std::chrono::seconds(1));
    }
  }
  /// What of all that these depend on, themselves included, has not been started.
  std::set<const Work*> not_started(const std::vector<WorkPtr>& wanted) const {
    std::set<const Work*> found;
    std::vector<const Work*> open;
    const auto look = [&](const WorkPtr& work) {
      if (work && !work->started && found.insert(work.get()).second) open.push_back(work.get());
    };
    std::for_each(wanted.begin(), wanted.end(), look);
    while (!open.empty()) {
      const Work* work = open.back();
      open.pop_back();
      std::for_each(work->before.begin(), work->before.end(), look);
    }
    return found;
  }
  /// Runs a piece of work that may run now, one of `choice` unless that is empty. Returns whether there was one. If
  /// there was none, everything waits for kernels that have started.
  bool run_one(const std::set<const Work*>& choice) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < waiting_.size(); ++i)
      if (waiting_[i]->ready() && (choice.empty() || choice.contains(waiting_[i].get()))) ready.push_back(i);
    if (ready.empty()) return false;
    const std::size_t chosen = settings().lazy_streams ? ready[random_() % ready.size()] : ready.front();
    const WorkPtr work = waiting_[chosen];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(chosen));
    run(work);
    return true;
  }
  /// Sleeps until something has changed, or for so long.
  void wait_for_progress(std::chrono::microseconds most) {
    const int depth = std::exchange(depth_, 0);
    for (int i = 1; i < depth; ++i) mutex_.unlock();
    progress_.wait_for(mutex_, most);
    for (int i = 1; i < depth; ++i) mutex_.lock();
    depth_ = depth;
  }

  std::recursive_mutex mutex_;
  int depth_ = 0;  ///< how often its owner has locked the mutex
  std::condition_variable_any progress_;
  std::vector<Stream> legacy_ = [] {
    std::vector<Stream> all(static_cast<std::size_t>(settings().devices));
    for (int i = 0; i < settings().devices; ++i) all[i].device = i;
    return all;
  }();
  std::vector<WorkPtr> waiting_;  ///< not started, oldest first
  std::mt19937_64 random_{settings().seed};
};

Queue& queue() { return Queue::instance(); }
using Lock = std::lock_guard<Queue>;

}  // namespace

cudaError_t check_stream(cudaStream_t stream) {
  const Lock lock(queue());
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
  const Lock lock(queue());
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
  const Lock lock(queue());
  return queue().resolve(stream).device;
}

namespace {

void enqueue(cudaStream_t stream, Task task) {
  const Lock lock(queue());
  if (const auto& capture = queue().resolve(stream).capture)
    capture->tasks.push_back(std::move(task));
  else
    queue().add(stream, std::move(task));
}

}  // namespace

void enqueue(cudaStream_t stream, std::function<void()> action) { enqueue(stream, Task{std::move(action)}); }

void enqueue_kernel(cudaStream_t stream, std::function<void()> action, bool one_thread) {
  const int device = device_of(stream);
  const auto run = [device, action = std::move(action)] {
    const DeviceMemoryAccess access(device);
    load_symbols(device);
    action();
  };
  enqueue(stream, Task{run, one_thread});
}

void finish(cudaStream_t stream) {
  const Lock lock(queue());
  queue().finish(queue().resolve(stream).last);
}

void finish_device(int device) {
  const Lock lock(queue());
  queue().finish_device(device);
}

void between_work(const std::function<void()>& function) {
  const Lock lock(queue());
  function();
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, least_priority);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (flags > cudaStreamNonBlocking) return report(cudaErrorInvalidValue);
  const Lock lock(queue());
  *stream = new Stream{.device = current_device(),
                       .flags = flags,
                       .priority = std::clamp(priority, greatest_priority, least_priority),
                       .last = {},
                       .capture = {}};
  queue().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  const Lock lock(queue());
  if (stream != nullptr && !queue().streams.contains(stream)) return report(cudaErrorInvalidResourceHandle);
  *priority = queue().resolve(stream).priority;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = least_priority;
  *greatest = greatest_priority;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(queue());
  if (!queue().streams.contains(stream)) return report(cudaErrorInvalidResourceHandle);
  queue().finish(stream->last);  // CUDA lets it drain in the background; nobody can tell
  queue().streams.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(queue());
  if (const cudaError_t error = check_wait(stream)) return report(error);
  finish(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Lock lock(queue());
  if (const cudaError_t error = check_wait(stream)) return report(error);
  return queue().poll(queue().resolve(stream).last) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(queue());
  if (const cudaError_t error = check_stream(stream)) return report(error);
  if (capturing(stream)) return report(cudaErrorStreamCaptureUnsupported);  // CUDA captures events too
  if (!queue().events.contains(event)) return report(cudaErrorInvalidResourceHandle);
  queue().add(stream, Task{[] {}}, event->record);  // the record of now: a later one changes nothing for this wait
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* argument) {
  if (const cudaError_t error = check_stream(stream)) return report(error);
  enqueue(stream, [=] { function(argument); });
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const Lock lock(queue());
  for (Stream* stream : queue().streams)
    if (stream->device == current_device() && stream->capture) return report(check_wait(stream));
  finish_device(current_device());
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const Lock lock(queue());
  *event = new Event{.device = current_device(), .flags = flags, .record = {}};
  queue().events.insert(*event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(queue());
  if (!queue().events.contains(event)) return report(cudaErrorInvalidResourceHandle);
  queue().events.erase(event);  // what waits for its records goes on doing so
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(queue());
  if (const cudaError_t error = check_stream(stream)) return report(error);
  if (capturing(stream)) return report(cudaErrorStreamCaptureUnsupported);  // CUDA captures events too
  if (!queue().events.contains(event) || event->device != queue().resolve(stream).device)
    return report(cudaErrorInvalidResourceHandle);
  event->record = queue().add(stream, Task{[] {}});
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(queue());
  if (!queue().events.contains(event)) return report(cudaErrorInvalidResourceHandle);
  queue().finish(event->record);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Lock lock(queue());
  if (!queue().events.contains(event)) return report(cudaErrorInvalidResourceHandle);
  return queue().poll(event->record) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const Lock lock(queue());
  for (const cudaEvent_t event : {start, end})
    if (!queue().events.contains(event) || event->flags & cudaEventDisableTiming || !event->record)
      return report(cudaErrorInvalidResourceHandle);
  if (start->device != end->device) return report(cudaErrorInvalidResourceHandle);
  if (!start->record->done || !end->record->done) return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(end->record->end - start->record->end).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(queue());
  if (stream == nullptr) return report(cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t error = check_stream(stream)) return report(error);
  if (stream->capture) return report(cudaErrorIllegalState);
  stream->capture = std::make_unique<Graph>();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(queue());
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
  const Lock lock(queue());
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
  const Lock lock(queue());
  if (!queue().graphs.contains(graph) || flags != 0) return report(cudaErrorInvalidValue);
  *executable = new ExecutableGraph{*graph};
  queue().executables.insert(*executable);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(queue());
  if (!queue().executables.contains(executable)) return report(cudaErrorInvalidValue);
  if (const cudaError_t error = check_stream(stream)) return report(error);
  for (const Task& task : executable->graph.tasks) enqueue(stream, task);
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const Lock lock(queue());
  if (queue().executables.erase(executable) == 0) return report(cudaErrorInvalidValue);
  delete executable;  // what was launched has its own copies
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Lock lock(queue());
  if (queue().graphs.erase(graph) == 0) return report(cudaErrorInvalidValue);
  delete graph;
  return cudaSuccess;
}

}  // namespace cuda_on_cpu
