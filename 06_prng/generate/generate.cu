// Numbers of many streams, step by step: number k of all streams, then number k + 1 of all.
//
// A thread has one stream. That is also the order in which the states lie, so neighbouring threads read and write
// neighbouring words, whether it is their state or their number. Of philox-planes it has the 32 streams of a word,
// whose numbers are made together.

#include "06_prng/generate/generate.hpp"

#include <algorithm>
#include <concepts>
#include <string>
#include <vector>

#include "06_prng/generators/minstd.hpp"
#include "06_prng/generators/mt19937.hpp"
#include "06_prng/generators/parisi_rapuano.hpp"
#include "06_prng/generators/philox.hpp"
#include "06_prng/generators/philox_planes.hpp"
#include "06_prng/generators/poster.hpp"
#include "app/invalid_input.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/free_memory.hpp"
#include "random/streams.hpp"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

using prng::NumbersRequest;

constexpr int block_threads = 128;
constexpr std::int64_t most_steps_of_a_launch = 1 << 16;      // few streams are slow
constexpr std::int64_t buffer_words = std::int64_t{1} << 22;  // 16 MiB, or two steps if that is more

/// MINSTD's state 1 + (number - 1) modulo 2^31 - 2: the number itself while it is one of the states.
__device__ Minstd minstd_from(std::uint64_t number) { return Minstd::seeded(number - 1); }

// Generators as they are badly seeded: from number seed + id.
__device__ void seed_badly(prng::Minstd, const States& states, std::int64_t id, std::uint64_t number) {
  states.store<1>(0, id, {minstd_from(number).state});
}
__device__ void seed_badly(prng::Mt19937, const States& states, std::int64_t id, std::uint64_t number) {
  prng::Mt19937::seed(states, id, number);
}
/// The poster's variant derives from ParisiRapuano and comes here too.
__device__ void seed_badly(prng::ParisiRapuano, const States& states, std::int64_t id, std::uint64_t number) {
  Minstd minstd = minstd_from(number);
  states.store<1>(0, id, {0});
  for (int i = 1; i < prng::ParisiRapuano::words; ++i) {
    minstd.draw();
    states.store<1>(i, id, {minstd.state});
  }
}
__device__ void seed_badly(prng::Philox<>, const States&, std::int64_t, std::uint64_t) {}
__device__ void seed_badly(prng::PhiloxPlanes, const States&, std::int64_t, std::uint64_t) {}

template <class Generator>
__global__ void seed_streams(States states, std::uint64_t seed, bool consecutive_seeds) {
  const std::int64_t id = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (id >= states.count) return;
  if (consecutive_seeds)
    seed_badly(Generator{}, states, id, seed + id);
  else
    Generator::seed(states, id, stream_seed(seed, 0, id));
}

/// numbers[step * streams + id] for `steps` steps from number n on, which belongs into `slot`.
template <class Generator>
__global__ void draw(std::uint32_t* numbers, States states, std::uint64_t seed, std::int64_t n, int slot,
                     std::int64_t steps) {
  const std::int64_t id = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (id >= states.count) return;
  typename Generator::template Streams<1> stream(states, {id, n, slot, seed, 0, {static_cast<std::uint32_t>(id)}});
  for (std::int64_t step = 0; step < steps; ++step) numbers[step * states.count + id] = stream.draw().of[0];
  stream.store();
}

/// The same of words of sites, whose sweeps have four replicas.
__global__ void draw_words(std::uint32_t* numbers, std::int64_t streams, std::uint64_t seed, std::int64_t n,
                           std::int64_t steps) {
  constexpr std::int64_t sites = 32, replicas = 4;
  const std::int64_t word = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, first = word * sites;
  for (std::int64_t step = 0; step < steps && first < streams; ++step) {
    const prng::DrawsOfWord draws(seed, static_cast<std::uint32_t>(word),
                                  static_cast<std::uint32_t>((n + step) % replicas),
                                  static_cast<std::uint32_t>((n + step) / replicas), 0);
    for (int bit = 0; bit < sites && first + bit < streams; ++bit)
      numbers[step * streams + first + bit] = draws.draw(bit);
  }
}

template <class Generator>
class NumbersOf : public prng::Numbers {
 public:
  explicit NumbersOf(const NumbersRequest& request)
      : request_(request), numbers_(static_cast<std::size_t>(most_steps() * request.streams)), host_(numbers_.size()) {
    states_ = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(std::max(Generator::words, 1) * request.streams));
    if (Generator::words > 0) {
      seed_streams<Generator><<<blocks(), block_threads>>>(states(), request_.seed, request_.consecutive_seeds);
      CHECK_CUDA(cudaGetLastError());
      CHECK_CUDA(cudaDeviceSynchronize());
    }
  }

  const std::uint32_t* next(std::int64_t steps) override {
    CHECK_CUDA(cudaSetDevice(request_.device));
    const int slot = Generator::words > 0 ? static_cast<int>(drawn_ % std::max(Generator::words, 1)) : 0;
    if constexpr (std::same_as<Generator, prng::PhiloxPlanes>)
      draw_words<<<blocks(), block_threads>>>(numbers_.data(), request_.streams, request_.seed, drawn_, steps);
    else
      draw<Generator><<<blocks(), block_threads>>>(numbers_.data(), states(), request_.seed, drawn_, slot, steps);
    CHECK_CUDA(cudaGetLastError());
    drawn_ += steps;
    CHECK_CUDA(cudaMemcpy(host_.data(), numbers_.data(), 4 * static_cast<std::size_t>(steps * request_.streams),
                          cudaMemcpyDeviceToHost));
    return host_.data();
  }

  std::int64_t most_steps() const override {
    return std::clamp(buffer_words / request_.streams, std::int64_t{2}, most_steps_of_a_launch);
  }

 private:
  unsigned blocks() const { return static_cast<unsigned>((request_.streams - 1) / block_threads + 1); }
  States states() { return {states_.data(), request_.streams}; }

  NumbersRequest request_;
  DeviceBuffer<std::uint32_t> states_, numbers_;
  std::vector<std::uint32_t> host_;
  std::int64_t drawn_ = 0;
};

template <class Generator>
std::unique_ptr<prng::Numbers> make(const NumbersRequest& request) {
  if (Generator::words == 0 && request.consecutive_seeds)
    throw InvalidInput("--seeding consecutive: " + request.generator + " has no state that could be seeded badly");
  // The states, and the buffer twice: on the CPU path the device's memory is the host's.
  const double needed = 4 * static_cast<double>(request.streams) * Generator::words +
                        8 * static_cast<double>(std::max(2 * request.streams, buffer_words));
  CHECK_CUDA(cudaSetDevice(request.device));
  refuse_more_than_there_is(needed, "--streams " + std::to_string(request.streams));
  return std::make_unique<NumbersOf<Generator>>(request);
}

}  // namespace

std::unique_ptr<prng::Numbers> make_numbers(const NumbersRequest& request) {
  const std::string& generator = request.generator;
  if (generator == "minstd") return make<prng::Minstd>(request);
  if (generator == "parisi-rapuano") return make<prng::ParisiRapuano>(request);
  if (generator == "parisi-rapuano-poster") return make<prng::PosterParisiRapuano>(request);
  if (generator == "mt19937") return make<prng::Mt19937>(request);
  if (generator == "philox") return make<prng::Philox<>>(request);
  if (generator == "philox-planes") return make<prng::PhiloxPlanes>(request);
  throw InvalidInput(generator + ": there is no such generator");
}

}  // namespace psflip::PSFLIP_PLATFORM
