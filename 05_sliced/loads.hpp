/// The three ways to read what a kernel does not write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "app/invalid_input.hpp"
#include "gpu/check.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/geometry.hpp"

namespace psflip::PSFLIP_PLATFORM {

using spin_glass::Load;

/// Words in device memory that a kernel only reads; w[i] is word number i. Word is an unsigned integer.
template <class Word, Load load>
struct Source;

/// An ordinary load. The compiler has to assume that the kernel's own stores may have changed the word.
template <class Word>
struct Source<Word, Load::plain> {
  const Word* words;
  __device__ Word operator[](std::int64_t i) const { return words[i]; }
};

/// What `const Word* __restrict__` means for a parameter, said for a member of a struct: nobody writes these words
/// while the kernel runs, so they may come by the read-only path.
template <class Word>
struct Source<Word, Load::readonly> {
  const Word* words;
  __device__ Word operator[](std::int64_t i) const { return __ldg(words + i); }
};

/// Through a texture object over linear memory: before GPUs of 2018 the only way into a cache of its own.
template <class Word>
struct Source<Word, Load::texture> {
  cudaTextureObject_t texture;
  __device__ Word operator[](std::int64_t i) const { return tex1Dfetch<Word>(texture, static_cast<int>(i)); }
};
template <>
struct Source<std::uint64_t, Load::texture> {  // a texture has no elements of 64 bits, but pairs of 32
  cudaTextureObject_t texture;
  __device__ std::uint64_t operator[](std::int64_t i) const {
    const uint2 halves = tex1Dfetch<uint2>(texture, static_cast<int>(i));
    return std::uint64_t{halves.y} << 32 | halves.x;
  }
};

/// Throws InvalidInput if a texture of the device cannot have so many elements.
inline void refuse_large_texture(std::size_t count, int device) {
  int most = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxTexture1DLinearWidth, device));
  if (count > static_cast<std::size_t>(most))
    throw InvalidInput("--load is texture: an array of this problem has " + std::to_string(count) +
                       " elements, a texture of this device " + std::to_string(most) + " at most");
}

/// Owns a texture object over `count` words of device memory.
class Texture {
 public:
  Texture() = default;
  template <class Word>
  Texture(const Word* words, std::size_t count, int device) {
    refuse_large_texture(count, device);
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<Word*>(words);
    resource.res.linear.sizeInBytes = count * sizeof(Word);
    if constexpr (sizeof(Word) == 8)
      resource.res.linear.desc = cudaCreateChannelDesc<uint2>();
    else
      resource.res.linear.desc = cudaCreateChannelDesc<Word>();
    cudaTextureDesc description{};
    description.readMode = cudaReadModeElementType;
    CHECK_CUDA(cudaCreateTextureObject(&object_, &resource, &description, nullptr));
  }
  ~Texture() {
    if (object_ != 0) cudaDestroyTextureObject(object_);
  }
  Texture(Texture&& other) noexcept : object_(other.object_) { other.object_ = 0; }
  Texture& operator=(Texture&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  cudaTextureObject_t object() const { return object_; }

 private:
  cudaTextureObject_t object_ = 0;
};

/// An array as a source. The texture object is only made for the load that wants it, and belongs to `texture`.
template <Load load, class Word>
Source<Word, load> source(const Word* words, [[maybe_unused]] const Texture& texture) {
  if constexpr (load == Load::texture)
    return {texture.object()};
  else
    return {words};
}

/// The six couplings of the red sites: along[direction][sample * elements + i].
template <class Word, Load load>
struct Couplings {
  Source<Word, load> along[spin_glass::directions];
};

}  // namespace psflip::PSFLIP_PLATFORM
