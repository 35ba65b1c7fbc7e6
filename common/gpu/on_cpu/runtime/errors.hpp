/// Error codes, with the numbers, names and words of the CUDA runtime.
#pragma once

namespace cuda_on_cpu {

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidPitchValue = 12,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidDevicePointer = 17,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInvalidDevice = 101,
  cudaErrorDeviceUninitialized = 201,
  cudaErrorMapBufferObjectFailed = 205,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorIllegalState = 401,
  cudaErrorNotReady = 600,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorPeerAccessNotEnabled = 705,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureImplicit = 906,
  cudaErrorInvalidClusterSize = 912,
};

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
/// The last error of this host thread; Get forgets it.
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

/// Remembers an error for cudaGetLastError, and hands it on.
cudaError_t report(cudaError_t error);

/// Remembers that a kernel did not run because of its launch bounds: for whichever host thread asks first, as kernels
/// run on others.
void report_exceeded_bounds();

}  // namespace cuda_on_cpu
