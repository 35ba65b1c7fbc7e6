/// CUDA's mbarrier primitives. They ask for the parity of a phase from compute capability 9.0 on; kernels that use them
/// are compiled for older GPUs too, for which choose.cu does not offer them.
#pragma once

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#include <cuda_awbarrier_primitives.h>
#else
#include <cstdint>

namespace psflip::PSFLIP_PLATFORM {

using __mbarrier_t = std::uint64_t;
__device__ inline void __mbarrier_init(__mbarrier_t*, unsigned) {}
__device__ inline void __mbarrier_arrive(__mbarrier_t*) {}
__device__ inline bool __mbarrier_test_wait_parity(__mbarrier_t*, bool) { return true; }

}  // namespace psflip::PSFLIP_PLATFORM
#endif
