/// Texture objects over linear memory: cached, read-only access by element number.
#pragma once

#include <cstddef>
#include <cstring>
#include <source_location>

#include "errors.hpp"

namespace cuda_on_cpu {

using cudaTextureObject_t = unsigned long long;

enum cudaChannelFormatKind { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat };
struct cudaChannelFormatDesc {
  int x, y, z, w;  ///< bits of each component
  cudaChannelFormatKind f;
};
inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}
/// For scalars and for the short vectors of up to 4 equal components, which all have a member x.
template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  const auto describe = []<class Component>(Component) {
    const cudaChannelFormatKind kind = Component(0.5) != Component(0) ? cudaChannelFormatKindFloat
                                       : Component(-1) < Component(0) ? cudaChannelFormatKindSigned
                                                                      : cudaChannelFormatKindUnsigned;
    const auto bits = [](std::size_t i) {
      return i < sizeof(T) / sizeof(Component) ? static_cast<int>(8 * sizeof(Component)) : 0;
    };
    return cudaChannelFormatDesc{bits(0), bits(1), bits(2), bits(3), kind};
  };
  if constexpr (requires(T v) { v.x; })
    return describe(T{}.x);
  else
    return describe(T{});
}

enum cudaResourceType { cudaResourceTypeLinear = 2 };
struct cudaResourceDesc {
  cudaResourceType resType;
  struct {
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      std::size_t sizeInBytes;
    } linear;
  } res;
};
enum cudaTextureReadMode { cudaReadModeElementType };
struct cudaTextureDesc {
  cudaTextureReadMode readMode;
};
struct cudaResourceViewDesc;

/// The device has to be able to fetch elements of desc's size: 1, 2, 4, 8 or 16 bytes, at most 2^28 of them.
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description, const cudaResourceViewDesc* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);

struct LinearTexture {
  const std::byte* data;
  std::size_t elements, element_bytes;
};
/// The texture behind a handle; ends the program if there is none or its elements have another size.
const LinearTexture& linear_texture(cudaTextureObject_t texture, std::size_t element_bytes, std::source_location where);

/// Element i; zero outside of the texture, as on the device.
template <class T>
T tex1Dfetch(cudaTextureObject_t texture, int i, std::source_location where = std::source_location::current()) {
  const LinearTexture& linear = linear_texture(texture, sizeof(T), where);
  T value{};
  if (i >= 0 && static_cast<std::size_t>(i) < linear.elements)
    std::memcpy(&value, linear.data + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void tex1Dfetch(T* value, cudaTextureObject_t texture, int i,
                std::source_location where = std::source_location::current()) {
  *value = tex1Dfetch<T>(texture, i, where);
}

}  // namespace cuda_on_cpu
