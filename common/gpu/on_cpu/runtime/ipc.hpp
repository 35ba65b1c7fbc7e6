/// Device memory of other processes of this host. Shared memory is made of it when its owner asks for a handle, so that
/// memory that nobody shares costs nothing more.
#pragma once

#include "errors.hpp"

namespace cuda_on_cpu {

/// Names an allocation to other processes of the same user on the same host.
struct cudaIpcMemHandle_t {
  char reserved[64];
};
enum : unsigned { cudaIpcMemLazyEnablePeerAccess = 1 };

/// The handle of the allocation that `pointer` points into; what is opened is the allocation from its beginning. Only
/// for cudaMalloc's memory of this process.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer);
/// Maps the memory, for the current device. Opened again, it is the same pointer. The process that allocated it cannot
/// open it, and must not free it before it is closed: whoever touches it then crashes. `flags` is
/// cudaIpcMemLazyEnablePeerAccess.
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags);
/// Undoes one opening.
cudaError_t cudaIpcCloseMemHandle(void* pointer);

}  // namespace cuda_on_cpu
