// Seeds for the streams of XORWOW, and the test that tells good ones from bad: the first two numbers of a stream are
// put into a square of cells. If they are independent, all cells get the same number of streams, up to chance.

#include "06_prng/linear_solver/walks/seeding.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "06_prng/linear_solver/walks/streams.hpp"
#include "app/invalid_input.hpp"
#include "gpu/device_buffer.hpp"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

constexpr int threads = 256;
constexpr int side = 10;  // of the square of cells

__device__ std::int64_t stream_number() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

unsigned blocks_for(std::int64_t all) { return static_cast<unsigned>((all + threads - 1) / threads); }

__global__ void seed_xorwow(States states, linear::Seeding seeding, std::uint64_t seed, std::int64_t first) {
  const std::int64_t id = stream_number();
  if (id < states.count) linear::Xorwow(linear::xorwow_seed(seeding, seed, first + id)).store(states, id);
}

template <class Streams>
__global__ void count_pairs(Streams streams, std::int64_t first, std::int64_t count, int discard, unsigned* cells) {
  const std::int64_t id = stream_number();
  if (id >= count) return;
  auto stream = streams.open(first + id, id);
  stream.skip(discard);
  const auto place = [](double number) { return min(static_cast<int>(number * side), side - 1); };  // 1.0 happens
  const int row = place(stream.next()), column = place(stream.next());
  atomicAdd(&cells[row * side + column], 1U);
}

}  // namespace

void check_seeding([[maybe_unused]] const linear::Request& request) {
#if !PSFLIP_HAS_CURAND
  if (request.generator == linear::Generator::xorwow && request.seeding == linear::Seeding::subsequences)
    throw InvalidInput("--seeding is subsequences: it needs a GPU, and a build that has cuRAND");
#endif
}

void seed(const States& states, const linear::Request& request, std::int64_t first) {
#if PSFLIP_HAS_CURAND
  if (request.seeding == linear::Seeding::subsequences) return seed_subsequences(states, request.seed, first);
#endif
  seed_xorwow<<<blocks_for(states.count), threads>>>(states, request.seeding, request.seed, first);
  CHECK_CUDA(cudaGetLastError());
}

double pair_chi_squared(const linear::Request& request, std::int64_t streams, int device) {
  if (streams < 1000) throw InvalidInput("chi^2 takes 1000 streams or more, not " + std::to_string(streams));
  check_seeding(request);
  CHECK_CUDA(cudaSetDevice(device));
  const std::int64_t together = std::min<std::int64_t>(streams, 1 << 24);
  const bool xorwow = request.generator == linear::Generator::xorwow;
  DeviceBuffer<std::uint32_t> words(xorwow ? static_cast<std::size_t>(linear::Xorwow::words * together) : 0);
  DeviceBuffer<unsigned> cells(std::vector<unsigned>(side * side));
  for (std::int64_t first = 0; first < streams; first += together) {
    const States states{words.data(), std::min(together, streams - first)};
    const unsigned blocks = blocks_for(states.count);
    if (xorwow) {
      seed(states, request, first);
      count_pairs<<<blocks, threads>>>(linear::XorwowStreams{states}, first, states.count, request.discard,
                                       cells.data());
    } else {
      count_pairs<<<blocks, threads>>>(linear::PhiloxStreams{request.seed}, first, states.count, request.discard,
                                       cells.data());
    }
    CHECK_CUDA(cudaGetLastError());
  }
  const double expected = static_cast<double>(streams) / (side * side);
  double chi_squared = 0;
  for (const unsigned count : cells.to_host()) chi_squared += (count - expected) * (count - expected) / expected;
  return chi_squared / (side * side - 1);
}

}  // namespace psflip::PSFLIP_PLATFORM
