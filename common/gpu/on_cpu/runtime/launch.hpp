/// Kernel launches. The rewriter turns  kernel<T><<<grid, block, shared, stream>>>(arguments)
/// into  CUDA_ON_CPU_LAUNCH((kernel<T>), grid, block, shared, stream)(arguments).
#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>

#include "device.hpp"
#include "errors.hpp"
#include "kernel/block.hpp"
#include "kernel/pool.hpp"
#include "streams.hpp"

namespace cuda_on_cpu {

struct LaunchConfiguration {
  dim3 grid, block;
  std::size_t dynamic_shared_bytes = 0;
  cudaStream_t stream = nullptr;
  dim3 cluster;              // 1 block unless cudaLaunchKernelEx says otherwise
  bool cooperative = false;  // as it says, too
};

/// What stands between <<< and >>>, converted as the arguments of a function are.
inline LaunchConfiguration launch_configuration(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes = 0,
                                                cudaStream_t stream = nullptr) {
  return {grid, block, dynamic_shared_bytes, stream, dim3(), false};
}

/// The checks of the CUDA runtime. `kernel` is null where its address is not known (a template whose arguments follow
/// from the call): then it may have all the dynamic shared memory that the device has.
cudaError_t check_launch(const LaunchConfiguration& configuration, const void* kernel);

/// Raises what a kernel may have of dynamic shared memory, or lets it have clusters of more than 8 blocks.
cudaError_t set_function_attribute(const void* kernel, cudaFuncAttribute attribute, int value);
template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute attribute, int value) {
  return set_function_attribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

// Flattened, so that a kernel without barriers becomes the body of this loop.
template <class Call>
__attribute__((flatten)) void run_threads(const void* kernel_call, Block& block) {
  const Call& call = *static_cast<const Call*>(kernel_call);
  do {
    while (block.start_thread()) {
      call();
      block.end_thread();
      if (one_thread_per_fiber) break;
    }
  } while (block.wait_for_block());
}

/// Puts the call of a kernel into a stream, if check_launch lets it.
template <class Kernel, class... A>
cudaError_t launch_kernel(const LaunchConfiguration& configuration, const void* address, Kernel kernel,
                          std::tuple<A...> arguments) {
  if (const cudaError_t error = check_launch(configuration, address)) return report(error);
  const auto run = [c = configuration, kernel, all = std::move(arguments)] {
    const auto call = [&] { std::apply(kernel, all); };
    run_grid({c.grid, c.block, c.cooperative ? c.grid : c.cluster, c.cooperative, c.dynamic_shared_bytes,
              run_threads<decltype(call)>, &call});
  };
  enqueue_kernel(configuration.stream, run,
                 !configuration.cooperative && one_thread(configuration.grid, configuration.block));
  return cudaSuccess;
}

/// A kernel with its launch configuration, waiting for its arguments.
template <class Kernel>
class Launch {
 public:
  Launch(const LaunchConfiguration& configuration, const void* address, Kernel kernel)
      : configuration_(configuration), address_(address), kernel_(std::move(kernel)) {}

  /// Puts the launch into its stream. Errors go to cudaGetLastError, as in CUDA.
  template <class... A>
  void operator()(A... arguments) const {
    launch_kernel(configuration_, address_, kernel_, std::tuple<A...>(arguments...));
  }

 private:
  LaunchConfiguration configuration_;
  const void* address_;
  Kernel kernel_;
};

template <class Dependent, class... P>
const void* kernel_address(void (*kernel)(P...)) {
  return reinterpret_cast<const void*>(kernel);
}

// The long names keep clear of those at the place of the launch, which the macro's argument uses.
#define CUDA_ON_CPU_LAUNCH(kernel, ...)                                                                    \
  ::cuda_on_cpu::Launch(                                                                                   \
      ::cuda_on_cpu::launch_configuration(__VA_ARGS__),                                                    \
      [=](auto cuda_on_cpu_dependent) -> const void* {                                                     \
        if constexpr (requires { ::cuda_on_cpu::kernel_address<decltype(cuda_on_cpu_dependent)> kernel; }) \
          return ::cuda_on_cpu::kernel_address<decltype(cuda_on_cpu_dependent)> kernel;                    \
        else                                                                                               \
          return nullptr;                                                                                  \
      }(0),                                                                                                \
      [=](auto... cuda_on_cpu_arguments) { kernel(cuda_on_cpu_arguments...); })

// ---- launches with attributes

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6
};
union cudaLaunchAttributeValue {
  struct {
    unsigned x, y, z;
  } clusterDim;  ///< in blocks; the grid's extent is a multiple
  /// All blocks of the grid are on the device at once, so that they may wait for each other. Not with clusters, here.
  int cooperative;
  /// The kernel may begin before the one before it in the stream has ended. Here none does.
  int programmaticStreamSerializationAllowed;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

LaunchConfiguration launch_configuration(const cudaLaunchConfig_t& config);

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
  return launch_kernel(launch_configuration(*config), reinterpret_cast<const void*>(kernel), kernel,
                       std::tuple<P...>(std::forward<A>(arguments)...));
}

/// How many clusters of this kernel the device runs at once.
cudaError_t max_active_clusters(int* clusters, const void* kernel, const LaunchConfiguration& configuration);
template <class... P>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, void (*kernel)(P...), const cudaLaunchConfig_t* config) {
  return max_active_clusters(clusters, reinterpret_cast<const void*>(kernel), launch_configuration(*config));
}

/// How many blocks of this kernel a multiprocessor runs at once: a cooperative grid may have as many on all of them.
cudaError_t max_active_blocks(int* blocks, const void* kernel, const LaunchConfiguration& configuration);
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(P...), int block_threads,
                                                          std::size_t dynamic_shared_bytes) {
  return max_active_blocks(blocks, reinterpret_cast<const void*>(kernel),
                           launch_configuration(1, block_threads, dynamic_shared_bytes));
}

/// Whether a kernel may not run in its block: `__launch_bounds__(most, ...)` becomes the question, at the kernel's
/// begin.
inline bool refuses_block(unsigned most, unsigned = 1, unsigned = 1) {
  const bool refuses = running_block->has_more_threads_than(most);
  if (refuses) [[unlikely]]
    report_exceeded_bounds();
  return refuses;
}

/// `extern __shared__ T name[];` becomes `T* name = dynamic_shared<T>();`
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(running_block->dynamic_shared());
}

}  // namespace cuda_on_cpu
