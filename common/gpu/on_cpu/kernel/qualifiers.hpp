/// The words that CUDA adds to C++, as a C++ compiler can read them.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)  // rewrite_launches puts what it says into the kernel
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))

// Blocks run on several host threads at once, and a host thread runs one block at a time: a block-scope variable that
// is thread_local is one per running block, which is what __shared__ means. (`static` would be shared by all blocks.)
#define __shared__ thread_local

// __noinline__ is left alone: libstdc++ uses the word itself, in __attribute__((__noinline__)).
