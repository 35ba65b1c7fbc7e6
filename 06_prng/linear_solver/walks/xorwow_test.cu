// cuRAND's XORWOW on the host, without a GPU: its header lets the includer say what its functions are.

#define QUALIFIERS static inline __host__ __device__
#include <cuda_runtime.h>
#include <curand_kernel.h>

#include <cstdint>
#include <vector>

#include "06_prng/linear_solver/walks/seeding.hpp"
#include "06_prng/linear_solver/walks/walk_test.hpp"
#include "06_prng/linear_solver/walks/xorwow.hpp"
#include "gpu/device_buffer.hpp"

namespace psflip::linear {

std::vector<std::uint32_t> curand_words(std::uint64_t seed, std::uint64_t subsequence, int count) {
  curandStateXORWOW_t state;
  curand_init(seed, subsequence, 0, &state);
  std::vector<std::uint32_t> words;
  for (int i = 0; i < count; ++i) words.push_back(curand(&state));
  return words;
}

std::vector<double> curand_numbers(std::uint64_t seed, std::uint64_t subsequence, int count) {
  curandStateXORWOW_t state;
  curand_init(seed, subsequence, 0, &state);
  std::vector<double> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(curand_uniform_double(&state));
  return numbers;
}

std::vector<std::uint32_t> subsequence_words(std::uint64_t seed, std::int64_t first, int streams, int count) {
  gpu::DeviceBuffer<std::uint32_t> device(static_cast<std::size_t>(Xorwow::words * streams));
  gpu::seed_subsequences({device.data(), streams}, seed, first);
  std::vector<std::uint32_t> states(device.size()), words;
  device.copy_to_host(states.data());
  for (int id = 0; id < streams; ++id) {
    Xorwow generator(States{states.data(), streams}, id);
    for (int i = 0; i < count; ++i) words.push_back(generator.next());
  }
  return words;
}

}  // namespace psflip::linear
