#include "errors.hpp"

#include <atomic>
#include <utility>

namespace cuda_on_cpu {
namespace {

struct Entry {
  cudaError_t error;
  const char *name, *words;
};
#define ENTRY(error, words) \
  { error, #error, words }
constexpr Entry entries[] = {
    ENTRY(cudaSuccess, "no error"),
    ENTRY(cudaErrorInvalidValue, "invalid argument"),
    ENTRY(cudaErrorMemoryAllocation, "out of memory"),
    ENTRY(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ENTRY(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    ENTRY(cudaErrorInvalidSymbol, "invalid device symbol"),
    ENTRY(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ENTRY(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ENTRY(cudaErrorInvalidDevice, "invalid device ordinal"),
    ENTRY(cudaErrorDeviceUninitialized, "invalid device context"),
    ENTRY(cudaErrorMapBufferObjectFailed, "mapping of buffer object failed"),
    ENTRY(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ENTRY(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    ENTRY(cudaErrorNotReady, "device not ready"),
    ENTRY(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ENTRY(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ENTRY(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ENTRY(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ENTRY(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    ENTRY(cudaErrorStreamCaptureImplicit,
          "operation would make the legacy stream depend on a capturing blocking stream"),
    ENTRY(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ENTRY(cudaErrorInvalidClusterSize, "a kernel launch error has occurred due to cluster misconfiguration"),
};
#undef ENTRY

thread_local cudaError_t last_error = cudaSuccess;
std::atomic<bool> bounds_exceeded = false;

void take_exceeded_bounds() {
  if (bounds_exceeded.load(std::memory_order_relaxed) && bounds_exceeded.exchange(false))
    last_error = cudaErrorLaunchOutOfResources;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  for (const Entry& e : entries)
    if (e.error == error) return e.name;
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  for (const Entry& e : entries)
    if (e.error == error) return e.words;
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  take_exceeded_bounds();
  return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  take_exceeded_bounds();
  return last_error;
}

void report_exceeded_bounds() { bounds_exceeded = true; }

cudaError_t report(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

}  // namespace cuda_on_cpu
