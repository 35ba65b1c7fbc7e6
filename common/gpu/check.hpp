/// CHECK_CUDA(call): throws if a call of the CUDA runtime fails, saying which call, where and why.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace psflip::PSFLIP_PLATFORM {

inline void check(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // forget it, so that it is not reported a second time by somebody else's check
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                           cudaGetErrorString(error));
}

}  // namespace psflip::PSFLIP_PLATFORM

#define CHECK_CUDA(...) ::psflip::PSFLIP_PLATFORM::check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
