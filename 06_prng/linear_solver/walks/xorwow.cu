// Streams of XORWOW as cuRAND means them: one seed, and subsequences 2^67 numbers apart.

#include <cuda_runtime.h>
#include <curand_kernel.h>

#include <cstdint>

#include "06_prng/linear_solver/walks/seeding.hpp"
#include "06_prng/linear_solver/walks/xorwow.hpp"
#include "gpu/check.hpp"

namespace psflip::gpu {
namespace {

__global__ void seed_by_curand(States states, std::uint64_t seed, std::int64_t first) {
  const std::int64_t id = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (id >= states.count) return;
  curandStateXORWOW_t state;
  curand_init(seed, static_cast<unsigned long long>(first + id), 0, &state);
  for (int i = 0; i < 5; ++i) states.store<1>(i, id, {state.v[i]});
  states.store<1>(5, id, {state.d});
}

}  // namespace

void seed_subsequences(const States& states, std::uint64_t seed, std::int64_t first) {
  seed_by_curand<<<static_cast<unsigned>((states.count + 255) / 256), 256>>>(states, seed, first);
  CHECK_CUDA(cudaGetLastError());
}

}  // namespace psflip::gpu
