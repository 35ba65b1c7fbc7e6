/// Kernel launches. The rewriter turns  kernel<T><<<grid, block, shared, stream>>>(arguments)
/// into  CUDA_ON_CPU_LAUNCH((kernel<T>), grid, block, shared, stream)(arguments).
#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>

#include "block.hpp"
#include "device.hpp"
#include "errors.hpp"
#include "pool.hpp"
#include "streams.hpp"

namespace cuda_on_cpu {

struct LaunchConfiguration {
  dim3 grid, block;
  std::size_t dynamic_shared_bytes = 0;
  cudaStream_t stream = nullptr;
};

/// What stands between <<< and >>>, converted as the arguments of a function are.
inline LaunchConfiguration launch_configuration(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes = 0,
                                                cudaStream_t stream = nullptr) {
  return {grid, block, dynamic_shared_bytes, stream};
}

/// The checks of the CUDA runtime. `kernel` is null where its address is not known (a template whose arguments follow
/// from the call): then it may have all the dynamic shared memory that the device has.
cudaError_t check_launch(const LaunchConfiguration& configuration, const void* kernel);

/// Raises what a kernel may have of dynamic shared memory.
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

/// A kernel with its launch configuration, waiting for its arguments.
template <class Kernel>
class Launch {
 public:
  Launch(const LaunchConfiguration& configuration, const void* address, Kernel kernel)
      : configuration_(configuration), address_(address), kernel_(std::move(kernel)) {}

  /// Puts the launch into its stream. Errors go to cudaGetLastError, as in CUDA.
  template <class... A>
  void operator()(A... arguments) const {
    if (report(check_launch(configuration_, address_)) != cudaSuccess) return;
    enqueue_kernel(configuration_.stream, [c = configuration_, kernel = kernel_, all = std::tuple<A...>(arguments...)] {
      const auto call = [&] { std::apply(kernel, all); };
      run_grid(c.grid, c.block, c.dynamic_shared_bytes, run_threads<decltype(call)>, &call);
    });
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

/// `extern __shared__ T name[];` becomes `T* name = dynamic_shared<T>();`
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(running_block->dynamic_shared());
}

}  // namespace cuda_on_cpu
