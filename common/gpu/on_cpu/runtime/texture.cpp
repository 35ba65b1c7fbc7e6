#include "texture.hpp"

#include <memory>

#include "device.hpp"
#include "kernel/block.hpp"
#include "memory.hpp"

namespace cuda_on_cpu {

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description, const cudaResourceViewDesc* view) {
  constexpr std::size_t alignment = 512;  // of what cudaMalloc gives; an address further in may be less aligned
  if (texture == nullptr || resource == nullptr || description == nullptr || view != nullptr ||
      resource->resType != cudaResourceTypeLinear)
    return report(cudaErrorInvalidValue);
  const auto& [data, format, bytes] = resource->res.linear;
  const auto offset = offset_in_array(data);
  if (!offset || *offset % alignment != 0) return report(cudaErrorInvalidValue);
  const auto element_bytes = static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
  if (element_bytes == 0 || element_bytes > 16 || (element_bytes & (element_bytes - 1)) != 0 ||
      bytes / element_bytes > max_texture_elements)
    return report(cudaErrorInvalidValue);
  const auto* linear = new LinearTexture{static_cast<const std::byte*>(data), bytes / element_bytes, element_bytes};
  *texture = reinterpret_cast<cudaTextureObject_t>(linear);
  return cudaSuccess;
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  delete reinterpret_cast<const LinearTexture*>(texture);
  return cudaSuccess;
}

const LinearTexture& linear_texture(cudaTextureObject_t texture, std::size_t element_bytes,
                                    std::source_location where) {
  const auto* linear = reinterpret_cast<const LinearTexture*>(texture);
  if (linear == nullptr || linear->element_bytes != element_bytes)
    running_block->die("fetches elements of a size that the texture does not have", where);
  return *linear;
}

}  // namespace cuda_on_cpu
