// The generators on their own: filling an array, and counting odd numbers.
//
// A thread has s neighbouring streams. Consecutive threads have consecutive streams, so the states that a warp needs at
// the same time lie side by side, and so do the numbers that it writes: s floats a thread, in one instruction.

#include "06_prng/fill/fill.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "06_prng/fill/float_array.cuh"
#include "06_prng/generators/minstd.hpp"
#include "06_prng/generators/mt19937.hpp"
#include "06_prng/generators/parisi_rapuano.hpp"
#include "06_prng/generators/philox.hpp"
#include "app/invalid_input.hpp"
#include "gpu/constants.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/free_memory.hpp"
#include "gpu/timer.hpp"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

using prng::Shape;
using prng::StateSize;
using prng::Sums;

/// The streams, and where they stand. Their states are a few more than `streams`, so that s divides the number.
struct Draws {
  States states;
  std::int64_t streams;
  std::uint64_t seed;
  std::int64_t n;  ///< number of the next draw
  int slot;        ///< n mod the generator's words
};

template <int s>
struct alignas(4 * s) Floats {
  float of[s];
};

__device__ std::int64_t thread_number() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

template <int s>
__device__ prng::Position<s> position_of(const Draws& draws, std::int64_t id) {
  prng::Position<s> position{id, draws.n, draws.slot, draws.seed, 0, {}};
  for (int k = 0; k < s; ++k) position.site[k] = static_cast<std::uint32_t>(id + k);
  return position;
}

template <class Generator>
__global__ void seed_all(Draws draws) {
  const std::int64_t id = thread_number();
  if (id < draws.states.count) Generator::seed(draws.states, id, stream_seed(draws.seed, 0, id));
}

/// Calls f(i, draw) for 0 <= i < many, with the next numbers of the streams: n, n + 1, ...
template <int s, class Streams, class F>
__device__ void for_each_draw(Streams& streams, std::int64_t n, std::int64_t many, F f) {
  constexpr int several = s == 1 ? 8 : 4;
  std::int64_t i = 0;
  for (; i < many && (n + i) % several != 0; ++i) f(i, streams.draw());
  for (; i + several <= many; i += several) {
    Words<s> draws[several];
    if constexpr (requires { streams.draw_several(draws); }) {
      streams.draw_several(draws);
    } else {
      for (int k = 0; k < several; ++k) draws[k] = streams.draw();
    }
    for (int k = 0; k < several; ++k) f(i + k, draws[k]);
  }
  for (; i < many; ++i) f(i, streams.draw());
}

/// Writes the next numbers of all streams as floats, step by step: number n of stream id to n * streams + id.
template <class Generator, int s, int bits>
__global__ void __launch_bounds__(1024)
    fill_array(Draws draws, std::int64_t steps, float* numbers, std::int64_t count) {
  const std::int64_t id = thread_number() * s;
  if (id >= draws.streams) return;
  typename Generator::template Streams<s> streams(draws.states, position_of<s>(draws, id));
  const bool aligned = draws.streams % s == 0 && count % s == 0;  // all s are stored together, or none
  for_each_draw<s>(streams, draws.n, steps, [&](std::int64_t step, const Words<s>& draw) {
    const std::int64_t first = step * draws.streams + id;
    Floats<s> floats;
    for (int k = 0; k < s; ++k) floats.of[k] = prng::unit_float(draw.of[k], bits);
    if (aligned) {
      if (first < count) *reinterpret_cast<Floats<s>*>(numbers + first) = floats;
    } else {
      for (int k = 0; k < s; ++k)
        if (id + k < draws.streams && first + k < count) numbers[first + k] = floats.of[k];
    }
  });
  streams.store();
}

/// Adds to each stream's count how many of its next numbers are odd.
template <class Generator, int s>
__global__ void __launch_bounds__(1024) count_odd(Draws draws, std::int64_t many, std::uint32_t* odd) {
  const std::int64_t id = thread_number() * s;
  if (id >= draws.streams) return;
  typename Generator::template Streams<s> streams(draws.states, position_of<s>(draws, id));
  std::uint32_t sum[s] = {};
  for_each_draw<s>(streams, draws.n, many, [&](std::int64_t, const Words<s>& draw) {
    for (int k = 0; k < s; ++k) sum[k] += draw.of[k] & 1;
  });
  streams.store();
  for (int k = 0; k < s; ++k) odd[id + k] += sum[k];
}

__global__ void write_zeros(Floats<4>* words, std::int64_t count) {
  const std::int64_t i = thread_number();
  if (i < count) words[i] = {{0, 0, 0, 0}};
}

template <class Generator>
constexpr int bits = std::is_same_v<Generator, prng::Minstd> ? 31 : 32;

std::int64_t round_up(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

/// So many threads at least, in blocks of `threads`.
unsigned blocks_for(std::int64_t all, int threads) { return static_cast<unsigned>(round_up(all, threads) / threads); }

/// The streams on the device. Both benchmarks have them.
template <class Generator, int s>
class Bundle {
 public:
  Bundle(std::uint64_t seed, const Shape& shape) : seed_(seed), shape_(shape), padded_(round_up(shape.streams, s)) {
    CHECK_CUDA(cudaSetDevice(shape.device));
    refuse_more_than_there_is(bytes(), "--streams " + std::to_string(shape.streams));
    states_ = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(Generator::words * padded_));
  }

  double seed() {
    n_ = 0;
    if (Generator::words == 0) return 0;
    return draw(0, [this](const Draws& draws) {
      seed_all<Generator><<<blocks_for(padded_, seed_threads), seed_threads>>>(draws);
    });
  }

  /// The time of launch(draws), which draws `many` numbers of each stream.
  template <class F>
  double draw(std::int64_t many, F launch) {
    CHECK_CUDA(cudaSetDevice(shape_.device));
    const int slot = Generator::words == 0 ? 0 : static_cast<int>(n_ % std::max(Generator::words, 1));
    const Draws draws{{states_.data(), padded_}, shape_.streams, seed_, n_, slot};
    n_ += many;
    timer_.start();
    launch(draws);
    CHECK_CUDA(cudaGetLastError());
    return timer_.stop();
  }

  unsigned blocks() const { return blocks_for(padded_ / s, shape_.threads); }
  std::int64_t padded() const { return padded_; }
  double bytes() const { return 4.0 * Generator::words * static_cast<double>(padded_); }
  StateSize state(std::int64_t many) const {
    return {bytes(), Generator::bytes(static_cast<double>(many)) / static_cast<double>(many)};
  }
  const Shape& shape() const { return shape_; }

 private:
  static constexpr int seed_threads = 256;

  std::uint64_t seed_;
  Shape shape_;
  std::int64_t padded_, n_ = 0;
  DeviceBuffer<std::uint32_t> states_;
  Timer timer_;
};

template <class Generator, int s>
class OwnFiller : public prng::Filler {
 public:
  OwnFiller(std::int64_t elements, std::uint64_t seed, const Shape& shape)
      : bundle_(seed, shape), numbers_(roomy(elements)) {
    this->seed();
  }

  double seed() override { return bundle_.seed(); }

  double fill() override {
    return bundle_.draw(steps(), [this](const Draws& draws) {
      fill_array<Generator, s, bits<Generator>>
          <<<bundle_.blocks(), bundle_.shape().threads>>>(draws, steps(), numbers_.data(), numbers_.count());
    });
  }

  Sums sums() const override { return numbers_.sums(); }
  std::vector<float> elements(std::int64_t first, std::int64_t step) const override {
    return numbers_.elements(first, step);
  }
  StateSize state() const override { return bundle_.state(steps()); }

 private:
  static std::int64_t roomy(std::int64_t elements) {
    refuse_more_than_there_is(4.0 * static_cast<double>(elements), "--elements " + std::to_string(elements));
    return elements;
  }
  std::int64_t steps() const {
    const std::int64_t streams = bundle_.shape().streams;
    return round_up(numbers_.count(), streams) / streams;
  }

  Bundle<Generator, s> bundle_;
  FloatArray numbers_;
};

template <class Generator, int s>
class OwnOddCounter : public prng::OddCounter {
 public:
  OwnOddCounter(std::uint64_t seed, const Shape& shape)
      : bundle_(seed, shape), odd_(static_cast<std::size_t>(bundle_.padded())) {
    this->seed();
  }

  double seed() override {
    CHECK_CUDA(cudaSetDevice(bundle_.shape().device));
    CHECK_CUDA(cudaMemset(odd_.data(), 0, odd_.bytes()));
    return bundle_.seed();
  }

  double count(std::int64_t many) override {
    return bundle_.draw(many, [&](const Draws& draws) {
      count_odd<Generator, s><<<bundle_.blocks(), bundle_.shape().threads>>>(draws, many, odd_.data());
    });
  }

  std::vector<std::uint32_t> odd() const override {
    std::vector<std::uint32_t> all = odd_.to_host();
    all.resize(static_cast<std::size_t>(bundle_.shape().streams));
    return all;
  }
  StateSize state(std::int64_t many) const override { return bundle_.state(many); }

 private:
  Bundle<Generator, s> bundle_;
  DeviceBuffer<std::uint32_t> odd_;
};

void check(const Shape& shape) {
  // Stream numbers are counters of Philox, which have 32 bits; more are no use anyway.
  const auto refuse = [](const std::string& option, std::int64_t value, const std::string& allowed) {
    throw InvalidInput(option + " is " + std::to_string(value) + "; it must be " + allowed);
  };
  if (shape.streams < 1 || shape.streams > 1 << 30) refuse("--streams", shape.streams, "from 1 to 2^30");
  if (shape.threads < 1 || shape.threads > 1024) refuse("--threads", shape.threads, "from 1 to 1024");
  if (shape.per_thread != 1 && shape.per_thread != 2 && shape.per_thread != 4)
    refuse("--per-thread", shape.per_thread, "1, 2 or 4");
}

/// Calls f.operator()<Generator, s>() for the generator of that name.
template <class F>
auto with_generator(const std::string& name, const Shape& shape, F f) {
  check(shape);
  return with_constant<1, 2, 4>(shape.per_thread, [&]<int s>() {
    if (name == "minstd") return f.template operator()<prng::Minstd, s>();
    if (name == "parisi-rapuano") return f.template operator()<prng::ParisiRapuano, s>();
    if (name == "mt19937") return f.template operator()<prng::Mt19937, s>();
    if (name == "philox") return f.template operator()<prng::Philox<>, s>();
    if (name == "philox-7") return f.template operator()<prng::Philox<7>, s>();
    throw InvalidInput("--generators " + name + ": there is no such generator");
  });
}

std::unique_ptr<prng::Filler> make_filler(const std::string& generator, std::int64_t elements, std::uint64_t seed,
                                          const Shape& shape) {
  if (elements < 1) throw InvalidInput("--elements is " + std::to_string(elements) + "; it must be 1 or more");
  return with_generator(generator, shape, [&]<class Generator, int s>() -> std::unique_ptr<prng::Filler> {
    return std::make_unique<OwnFiller<Generator, s>>(elements, seed, shape);
  });
}

std::unique_ptr<prng::OddCounter> make_counter(const std::string& generator, std::uint64_t seed, const Shape& shape) {
  return with_generator(generator, shape, [&]<class Generator, int s>() -> std::unique_ptr<prng::OddCounter> {
    return std::make_unique<OwnOddCounter<Generator, s>>(seed, shape);
  });
}

double write_bandwidth(int device, std::size_t bytes, bool by_kernel, int repetitions) {
  CHECK_CUDA(cudaSetDevice(device));
  const auto words = static_cast<std::int64_t>(bytes / sizeof(Floats<4>));
  DeviceBuffer<Floats<4>> target(static_cast<std::size_t>(words));
  const double seconds = median_seconds(repetitions, [&] {
    if (by_kernel) {
      write_zeros<<<blocks_for(words, 256), 256>>>(target.data(), words);
      CHECK_CUDA(cudaGetLastError());
    } else {
      CHECK_CUDA(cudaMemsetAsync(target.data(), 0, target.bytes()));
    }
  });
  return static_cast<double>(target.bytes()) / seconds;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

std::size_t l2_bytes(int device) { return static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, device)); }

/// 2048 a multiprocessor, as data-centre GPUs have it: a default, no limit.
std::int64_t resident_threads(int device) {
  return std::int64_t{2048} * attribute(cudaDevAttrMultiProcessorCount, device);
}

}  // namespace

const prng::Makers fill_makers = {make_filler, make_counter, write_bandwidth, l2_bytes, resident_threads};

}  // namespace psflip::PSFLIP_PLATFORM
