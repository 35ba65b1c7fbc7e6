#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "gpu/check.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// `count` elements in the memory of the device that was current when it was made. Not initialised. Moves, never
/// copies.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) { CHECK_CUDA(cudaMalloc(&data_, count * sizeof(T))); }
  explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(values.size()) { copy_from_host(values.data()); }
  ~DeviceBuffer() { cudaFree(data_); }  // nothing can be done about an error here
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

  void copy_from_host(const T* source) { CHECK_CUDA(cudaMemcpy(data_, source, bytes(), cudaMemcpyHostToDevice)); }
  void copy_to_host(T* target) const { CHECK_CUDA(cudaMemcpy(target, data_, bytes(), cudaMemcpyDeviceToHost)); }
  std::vector<T> to_host() const {
    std::vector<T> values(count_);
    copy_to_host(values.data());
    return values;
  }

  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace psflip::PSFLIP_PLATFORM
