/// A pointer into shared memory that the compiler keeps.
#pragma once

#include <cstdint>

namespace psflip::PSFLIP_PLATFORM {

/// The same pointer. From compute capability 9.0 on an address in shared memory has the number of the block within its
/// cluster in it, from a special register that takes a while to read. nvcc reads it anew for every few accesses, to
/// save a register; a pointer of which it does not know where it came from it has to keep.
template <class T>
__device__ T* kept(T* shared) {
#ifdef __CUDA_ARCH__
  auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("" : "+r"(address));
  return static_cast<T*>(__cvta_shared_to_generic(address));
#else
  return shared;
#endif
}

}  // namespace psflip::PSFLIP_PLATFORM
