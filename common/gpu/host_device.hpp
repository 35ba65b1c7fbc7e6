/// PSFLIP_HOST_DEVICE marks a function that kernels and host code both call, in headers that plain C++ includes too.
#pragma once

#ifdef __CUDACC__
#define PSFLIP_HOST_DEVICE __host__ __device__
#else
#define PSFLIP_HOST_DEVICE
#endif
