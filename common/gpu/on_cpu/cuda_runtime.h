/// The CUDA runtime, as psFlip's CPU path has it: <cuda_runtime.h> for .cu files that an ordinary C++ compiler
/// compiles. Everything lies in the namespace cuda_on_cpu, so that a program can hold NVIDIA's runtime as well.
///
/// kernel/: how kernels run
///   qualifiers.hpp        __global__, __shared__ and the other words
///   vector_types.hpp      dim3, int4, ...
///   device_functions.hpp  threadIdx, __syncthreads, __shfl_sync, atomicAdd, ...: what kernels call
///   block.hpp             one thread block: the barrier and the warp operations are in block.cpp
///   cluster.hpp           clusters of blocks; <cooperative_groups.h> is what kernels see of them
///   asynchronous.hpp      copies that go on by themselves and barriers with phases: <cuda_pipeline.h>, <cuda/barrier>
///   fiber.hpp             the stacks that waiting threads keep
///   lone_kernel.hpp       kernels of one thread, which may wait; <cuda/atomic> is for the flags that they wait for
///   pool.hpp              the host threads that run the blocks of a grid
///   crash.hpp             what a crash says
///   observer.hpp          who watches kernels run: the recorder in counters/
///   sanitizers.hpp        what ASan and TSan must know
/// runtime/: what the host calls
///   launch.hpp            kernel<<<...>>>(...), after rewrite_launches
///   streams.hpp           streams, events, captured graphs
///   memory.hpp            device memory, pinned memory, copies
///   registry.hpp          all of it, and the pages in which it lies
///   ipc.hpp               device memory of other processes
///   symbols.hpp           __constant__ variables
///   texture.hpp           linear texture objects
///   device.hpp            the devices and their properties
///   settings.hpp          the environment variables
#pragma once

#include "kernel/device_functions.hpp"
#include "kernel/qualifiers.hpp"
#include "kernel/vector_types.hpp"
#include "runtime/device.hpp"
#include "runtime/errors.hpp"
#include "runtime/ipc.hpp"
#include "runtime/launch.hpp"
#include "runtime/memory.hpp"
#include "runtime/settings.hpp"
#include "runtime/streams.hpp"
#include "runtime/symbols.hpp"
#include "runtime/texture.hpp"

using namespace cuda_on_cpu;
