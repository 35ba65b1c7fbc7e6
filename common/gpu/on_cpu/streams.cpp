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

struct Stream {
  int device = 0;
  unsigned flags = cudaStreamDefault;
  WorkPtr last;  ///< null if nothing was ever put in
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

bool valid_stream(cudaStream_t stream) {
  const Lock lock(queue().mutex);
  return stream == nullptr || queue().streams.contains(stream);
}

int device_of(cudaStream_t stream) {
  const Lock lock(queue().mutex);
  return queue().resolve(stream).device;
}

void enqueue(cudaStream_t stream, std::function<void()> action) {
  const Lock lock(queue().mutex);
  queue().add(stream, std::move(action));
}

void enqueue_kernel(cudaStream_t stream, std::function<void()> action) {
  const Lock lock(queue().mutex);
  const int device = queue().resolve(stream).device;
  queue().add(stream, [device, run = std::move(action)] {
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
  *stream = new Stream{.device = current_device(), .flags = flags, .last = {}};
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
  if (!valid_stream(stream)) return report(cudaErrorInvalidResourceHandle);
  finish(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Lock lock(queue().mutex);
  if (!valid_stream(stream)) return report(cudaErrorInvalidResourceHandle);
  return queue().poll(queue().resolve(stream).last) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(queue().mutex);
  if (!valid_stream(stream)) return report(cudaErrorInvalidResourceHandle);
  if (!queue().events.contains(event)) return report(cudaErrorInvalidResourceHandle);
  queue().add(
      stream, [] {}, event->record);  // the record of now: a later one changes nothing for this wait
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* argument) {
  if (!valid_stream(stream)) return report(cudaErrorInvalidResourceHandle);
  enqueue(stream, [=] { function(argument); });
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
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
  if (!queue().events.contains(event) || !valid_stream(stream) || event->device != queue().resolve(stream).device)
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

}  // namespace cuda_on_cpu
