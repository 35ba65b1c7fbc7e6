// The generators in kernels, for generator_test.cpp.
#include "06_prng/generators/generator_test.hpp"

#include <algorithm>

#include "06_prng/generators/minstd.hpp"
#include "06_prng/generators/mt19937.hpp"
#include "06_prng/generators/parisi_rapuano.hpp"
#include "06_prng/generators/philox.hpp"
#include "gpu/constants.hpp"
#include "gpu/device_buffer.hpp"
#include "random/streams.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using prng::Kind;
using prng::Result;
using prng::Task;

constexpr int block_threads = 96;

template <class Generator>
__global__ void seed_streams(States states, std::uint64_t seed, std::uint32_t group) {
  const std::int64_t id = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (id < states.count) Generator::seed(states, id, stream_seed(seed, group, id));
}

template <class Generator, int s>
__global__ void draw(std::uint32_t* numbers, States states, std::uint64_t seed, std::uint32_t group, std::int64_t n,
                     std::int64_t draws) {
  const std::int64_t id = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * s;
  if (id < states.count)
    prng::draw_some<Generator, s>(numbers, states, prng::position<Generator, s>(id, n, seed, group), draws);
}

template <class Generator, int s>
Result run(const Task& task) {
  const auto blocks = [](std::int64_t threads) { return static_cast<unsigned>((threads - 1) / block_threads + 1); };
  DeviceBuffer<std::uint32_t> numbers(static_cast<std::size_t>(task.draws * task.streams));
  DeviceBuffer<std::uint32_t> words(static_cast<std::size_t>(std::max(Generator::words, 1) * task.streams));
  const States states{words.data(), task.streams};
  CHECK_CUDA(cudaMemset(words.data(), 0, words.bytes()));
  if (!task.states.empty()) {
    words.copy_from_host(task.states.data());
  } else {
    seed_streams<Generator><<<blocks(task.streams), block_threads>>>(states, task.seed, task.group);
    CHECK_CUDA(cudaGetLastError());
  }
  for (std::int64_t done = 0; done < task.draws;) {
    const std::int64_t now = std::min(task.draws - done, task.draws_per_launch);
    draw<Generator, s><<<blocks(task.streams / s), block_threads>>>(numbers.data() + done * task.streams, states,
                                                                    task.seed, task.group, task.first + done, now);
    CHECK_CUDA(cudaGetLastError());
    done += now;
  }
  Result result{std::vector<std::uint32_t>(numbers.size()), std::vector<std::uint32_t>(words.size())};
  numbers.copy_to_host(result.numbers.data());
  words.copy_to_host(result.states.data());
  if (Generator::words == 0) result.states.clear();
  return result;
}

template <class Generator>
Result run_bundles(const Task& task) {
  return with_constant<1, 2, 4, 8>(task.bundle, [&]<int s>() { return run<Generator, s>(task); });
}

}  // namespace

Result run_task(const Task& task) {
  switch (task.kind) {
    case Kind::minstd:
      return run_bundles<prng::Minstd>(task);
    case Kind::parisi_rapuano:
      return run_bundles<prng::ParisiRapuano>(task);
    case Kind::mt19937:
      return run_bundles<prng::Mt19937>(task);
    case Kind::philox:
      return run_bundles<prng::Philox<>>(task);
    case Kind::philox_7:
      return run_bundles<prng::Philox<7>>(task);
  }
  return {};
}

}  // namespace psflip::PSFLIP_PLATFORM
