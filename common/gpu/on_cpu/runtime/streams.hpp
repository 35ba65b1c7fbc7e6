/// Streams, events, and graphs captured from a stream.
///
/// Work put into a stream runs at once, in the calling host thread, unless it comes after a kernel that waits
/// (lone_kernel.hpp). With PSFLIP_LAZY_STREAMS=1 it runs when something waits for it, in a random order that the
/// streams and events allow, and what nobody waits for runs now and then: a missing synchronisation then gives a wrong
/// result.
#pragma once

#include <cstddef>
#include <functional>

#include "errors.hpp"

namespace cuda_on_cpu {

struct Stream;
struct Event;
struct Graph;
struct ExecutableGraph;
using cudaStream_t = Stream*;  ///< null: the legacy default stream of the current device
using cudaEvent_t = Event*;
using cudaGraph_t = Graph*;
using cudaGraphExec_t = ExecutableGraph*;

enum : unsigned {
  cudaStreamDefault = 0,
  cudaStreamNonBlocking = 1,
  cudaEventDefault = 0,
  cudaEventBlockingSync = 1,
  cudaEventDisableTiming = 2,
};

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
/// Priorities have no effect. One beyond the range becomes the nearest in it, as in CUDA.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* argument);
cudaError_t cudaDeviceSynchronize();

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// The modes differ in what other host threads may do meanwhile; here they may do everything.
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};
/// Until the capture ends, what is put into the stream is remembered and not done.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags = 0);
/// Puts what was captured into a stream.
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

/// Why work cannot be put into a stream, which may be of any device, or null for the default stream of the current one.
cudaError_t check_stream(cudaStream_t stream);
/// Whether the stream remembers its work for a graph.
bool capturing(cudaStream_t stream);
int device_of(cudaStream_t stream);
/// Puts work into a stream. A graph may do it several times.
void enqueue(cudaStream_t stream, std::function<void()> action);
/// The same for a kernel: with the device's memory accessible and its __constant__ variables in place. One of a single
/// thread may wait in it for other work.
void enqueue_kernel(cudaStream_t stream, std::function<void()> action, bool one_thread);
/// Runs what the stream holds, and whatever that waits for.
void finish(cudaStream_t stream);
/// The same for all streams of a device.
void finish_device(int device);
/// Calls a function while no work runs, kernels that wait excepted.
void between_work(const std::function<void()>& function);

}  // namespace cuda_on_cpu
