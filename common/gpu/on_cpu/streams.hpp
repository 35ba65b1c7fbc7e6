/// Streams and events.
///
/// Work put into a stream runs at once, in the calling host thread. With PSFLIP_LAZY_STREAMS=1 it runs as late as it
/// may, in a random order that the streams and events allow: a missing synchronisation then gives a wrong result.
#pragma once

#include <cstddef>
#include <functional>

#include "errors.hpp"

namespace cuda_on_cpu {

struct Stream;
struct Event;
using cudaStream_t = Stream*;  ///< null: the legacy default stream of the current device
using cudaEvent_t = Event*;

enum : unsigned {
  cudaStreamDefault = 0,
  cudaStreamNonBlocking = 1,
  cudaEventDefault = 0,
  cudaEventBlockingSync = 1,
  cudaEventDisableTiming = 2,
};

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
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

/// A stream of any device, or null for the default stream of the current one.
bool valid_stream(cudaStream_t stream);
int device_of(cudaStream_t stream);
/// Puts work into a stream.
void enqueue(cudaStream_t stream, std::function<void()> action);
/// The same for a kernel: with the device's memory accessible and its __constant__ variables in place.
void enqueue_kernel(cudaStream_t stream, std::function<void()> action);
/// Runs what the stream holds, and whatever that waits for.
void finish(cudaStream_t stream);
/// The same for all streams of a device.
void finish_device(int device);

}  // namespace cuda_on_cpu
