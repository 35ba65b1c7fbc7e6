/// What the semantics tests share. They say what CUDA promises and the CPU path must keep, so they are compiled for
/// both.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "gpu/check.hpp"
#include "gpu/device_buffer.hpp"

namespace psflip::PSFLIP_PLATFORM {

constexpr unsigned full_mask = 0xffffffffu;

template <class T>
std::vector<T> to_host(const DeviceBuffer<T>& device) {
  std::vector<T> host(device.size());
  device.copy_to_host(host.data());
  return host;
}

template <class T>
DeviceBuffer<T> to_device(const std::vector<T>& host) {
  DeviceBuffer<T> device(host.size());
  device.copy_from_host(host.data());
  return device;
}

/// The `count` elements, zero before, that `launch(T*)` leaves.
template <class T, class Launch>
std::vector<T> result_of(std::size_t count, Launch launch) {
  DeviceBuffer<T> out(count);
  CHECK_CUDA(cudaMemset(out.data(), 0, out.bytes()));
  launch(out.data());
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  return to_host(out);
}

/// A vector whose element i is f(i).
template <class F>
auto generate(std::size_t count, F f) {
  std::vector<decltype(f(0))> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(f(static_cast<int>(i)));
  return all;
}

/// The number of the running thread in its block, and in the grid.
__device__ inline int thread_in_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
__device__ inline int thread_in_grid() {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  return block * static_cast<int>(blockDim.x * blockDim.y * blockDim.z) + thread_in_block();
}

}  // namespace psflip::PSFLIP_PLATFORM
