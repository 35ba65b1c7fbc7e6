/// An array of floats on the device, and what there is to say about it without copying it to the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "06_prng/fill/fill.hpp"
#include "gpu/device_buffer.hpp"
#include "random/streams.hpp"

namespace psflip::PSFLIP_PLATFORM {

struct DeviceSums {
  unsigned long long checksum, total, outside;
};

/// Adds up the array. `total` is in units of 2^-32: whole numbers add up to the same in any order.
static __global__ void sum_up(const float* numbers, std::int64_t count, DeviceSums* sums) {
  DeviceSums own = {0, 0, 0};
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const float number = numbers[i];
    std::uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    own.checksum += mix(mix(static_cast<std::uint64_t>(i)) + bits);
    if (number >= 0 && number <= 1) {
      own.total += static_cast<unsigned long long>(number * 0x1p32F);
    } else {
      ++own.outside;
    }
  }
  atomicAdd(&sums->checksum, own.checksum);
  atomicAdd(&sums->total, own.total);
  atomicAdd(&sums->outside, own.outside);
}

static __global__ void gather(const float* numbers, std::int64_t first, std::int64_t step, std::int64_t count,
                              float* taken) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) taken[i] = numbers[first + i * step];
}

class FloatArray {
 public:
  explicit FloatArray(std::int64_t count) : array_(static_cast<std::size_t>(count)) {}

  float* data() { return array_.data(); }
  std::int64_t count() const { return static_cast<std::int64_t>(array_.size()); }

  prng::Sums sums() const {
    DeviceBuffer<DeviceSums> device_sums(std::vector<DeviceSums>(1));
    sum_up<<<static_cast<unsigned>(std::min<std::int64_t>((count() + 255) / 256, 2048)), 256>>>(array_.data(), count(),
                                                                                                device_sums.data());
    CHECK_CUDA(cudaGetLastError());
    const DeviceSums sums = device_sums.to_host().front();
    const auto inside = static_cast<std::uint64_t>(count()) - sums.outside;
    return {sums.checksum, static_cast<double>(sums.total) * 0x1p-32 / static_cast<double>(inside), sums.outside};
  }

  std::vector<float> elements(std::int64_t first, std::int64_t step) const {
    if (first >= count()) return {};
    const std::int64_t many = (count() - first + step - 1) / step;
    DeviceBuffer<float> taken(static_cast<std::size_t>(many));
    gather<<<static_cast<unsigned>((many + 255) / 256), 256>>>(array_.data(), first, step, many, taken.data());
    CHECK_CUDA(cudaGetLastError());
    return taken.to_host();
  }

 private:
  DeviceBuffer<float> array_;
};

}  // namespace psflip::PSFLIP_PLATFORM
