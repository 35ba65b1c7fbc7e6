// cuRAND's own generators on the same two tasks as fill.cu, for comparison.

#include "06_prng/fill/curand_fill.hpp"

#include <curand.h>
#include <curand_kernel.h>
#include <curand_mtgp32_host.h>
#include <curand_mtgp32dc_p_11213.h>

#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "06_prng/fill/float_array.cuh"
#include "app/invalid_input.hpp"
#include "app/stopwatch.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/free_memory.hpp"
#include "gpu/timer.hpp"

namespace psflip::gpu {
namespace {

void check_curand(curandStatus_t status, const char* call) {
  if (status != CURAND_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + ": cuRAND's status " + std::to_string(status));
}
#define CHECK_CURAND(...) check_curand((__VA_ARGS__), #__VA_ARGS__)

/// Seconds that the host waits for f and for what f has started on the device.
template <class F>
double host_seconds(F f) {
  CHECK_CUDA(cudaDeviceSynchronize());
  const Stopwatch watch;
  f();
  CHECK_CUDA(cudaDeviceSynchronize());
  return watch.seconds();
}

/// (a) curandGenerateUniform.
class CurandFiller : public prng::Filler {
 public:
  CurandFiller(curandRngType_t type, curandOrdering_t ordering, std::int64_t elements, std::uint64_t seed, int device)
      : type_(type), ordering_(ordering), seed_(seed), device_(device), numbers_(elements) {
    this->seed();
  }
  ~CurandFiller() override { destroy(); }
  CurandFiller(const CurandFiller&) = delete;
  CurandFiller& operator=(const CurandFiller&) = delete;

  double seed() override {
    CHECK_CUDA(cudaSetDevice(device_));
    destroy();
    return host_seconds([this] {
      CHECK_CURAND(curandCreateGenerator(&generator_, type_));
      const curandStatus_t status = curandSetGeneratorOrdering(generator_, ordering_);
      if (status == CURAND_STATUS_OUT_OF_RANGE || status == CURAND_STATUS_TYPE_ERROR)
        throw InvalidInput("cuRAND does not have this ordering for this generator");
      check_curand(status, "curandSetGeneratorOrdering");
      CHECK_CURAND(curandSetPseudoRandomGeneratorSeed(generator_, seed_));
      CHECK_CURAND(curandGenerateSeeds(generator_));
    });
  }

  double fill() override {
    CHECK_CUDA(cudaSetDevice(device_));
    timer_.start();
    CHECK_CURAND(curandGenerateUniform(generator_, numbers_.data(), static_cast<std::size_t>(numbers_.count())));
    return timer_.stop();
  }

  prng::Sums sums() const override { return numbers_.sums(); }
  std::vector<float> elements(std::int64_t first, std::int64_t step) const override {
    return numbers_.elements(first, step);
  }
  prng::StateSize state() const override {
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  }

 private:
  void destroy() {
    if (generator_) curandDestroyGenerator(generator_);
    generator_ = nullptr;
  }

  curandRngType_t type_;
  curandOrdering_t ordering_;
  std::uint64_t seed_;
  int device_;
  curandGenerator_t generator_ = nullptr;
  FloatArray numbers_;
  Timer timer_;
};

template <class State>
__global__ void init_curand(State* states, std::int64_t count, std::uint64_t seed) {
  const std::int64_t id = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (id < count) curand_init(seed, id, 0, &states[id]);
}

/// As in cuRAND's manual: the state in registers while the kernel runs.
template <class State>
__global__ void __launch_bounds__(1024)
    count_odd_curand(State* states, std::int64_t count, std::int64_t many, std::uint32_t* odd) {
  const std::int64_t id = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (id >= count) return;
  State state = states[id];
  std::uint32_t sum = 0;
#pragma unroll 4
  for (std::int64_t i = 0; i < many; ++i) sum += curand(&state) & 1;
  states[id] = state;
  odd[id] += sum;
}

/// As in cuRAND's manual: one state for a block, and all its threads step together.
__global__ void __launch_bounds__(prng::mtgp32_threads)
    count_odd_mtgp32(curandStateMtgp32_t* states, std::int64_t many, std::uint32_t* odd) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < many; ++i) sum += curand(&states[blockIdx.x]) & 1;
  odd[std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x] += sum;
}

/// (b) with one of cuRAND's device states.
template <class State>
class CurandOddCounter : public prng::OddCounter {
 public:
  static constexpr bool by_block = std::is_same_v<State, curandStateMtgp32_t>;

  CurandOddCounter(std::uint64_t seed, const prng::Shape& shape)
      : seed_(seed), shape_(shape), odd_(static_cast<std::size_t>(shape.streams)) {
    states_ = DeviceBuffer<State>(by_block ? blocks() : odd_.size());
    if (by_block) parameters_ = DeviceBuffer<mtgp32_kernel_params_t>(1);
    this->seed();
  }

  double seed() override {
    CHECK_CUDA(cudaSetDevice(shape_.device));
    CHECK_CUDA(cudaMemset(odd_.data(), 0, odd_.bytes()));
    return host_seconds([this] {
      if constexpr (by_block) {
        CHECK_CURAND(curandMakeMTGP32Constants(mtgp32dc_params_fast_11213, parameters_.data()));
        CHECK_CURAND(curandMakeMTGP32KernelState(states_.data(), mtgp32dc_params_fast_11213, parameters_.data(),
                                                 static_cast<int>(blocks()), seed_));
      } else {
        init_curand<<<static_cast<unsigned>((shape_.streams + 127) / 128), 128>>>(states_.data(), shape_.streams,
                                                                                  seed_);
        CHECK_CUDA(cudaGetLastError());
      }
    });
  }

  double count(std::int64_t many) override {
    CHECK_CUDA(cudaSetDevice(shape_.device));
    timer_.start();
    if constexpr (by_block) {
      count_odd_mtgp32<<<blocks(), shape_.threads>>>(states_.data(), many, odd_.data());
    } else {
      count_odd_curand<<<blocks(), shape_.threads>>>(states_.data(), shape_.streams, many, odd_.data());
    }
    CHECK_CUDA(cudaGetLastError());
    return timer_.stop();
  }

  std::vector<std::uint32_t> odd() const override { return odd_.to_host(); }

  /// MTGP32 reads four words of its block's state for a number and writes one; the others stay in registers.
  prng::StateSize state(std::int64_t many) const override {
    return {static_cast<double>(states_.bytes()), by_block ? 20 : 2.0 * sizeof(State) / static_cast<double>(many)};
  }

 private:
  unsigned blocks() const { return static_cast<unsigned>((shape_.streams + shape_.threads - 1) / shape_.threads); }

  std::uint64_t seed_;
  prng::Shape shape_;
  DeviceBuffer<std::uint32_t> odd_;
  DeviceBuffer<State> states_;
  DeviceBuffer<mtgp32_kernel_params_t> parameters_;
  Timer timer_;
};

}  // namespace

std::unique_ptr<prng::Filler> make_curand_filler(const std::string& generator, const std::string& ordering,
                                                 std::int64_t elements, std::uint64_t seed, int device) {
  static const std::map<std::string, curandRngType_t> types = {{"curand-xorwow", CURAND_RNG_PSEUDO_XORWOW},
                                                               {"curand-mtgp32", CURAND_RNG_PSEUDO_MTGP32},
                                                               {"curand-mt19937", CURAND_RNG_PSEUDO_MT19937},
                                                               {"curand-philox", CURAND_RNG_PSEUDO_PHILOX4_32_10},
                                                               {"curand-mrg32k3a", CURAND_RNG_PSEUDO_MRG32K3A}};
  static const std::map<std::string, curandOrdering_t> orderings = {{"default", CURAND_ORDERING_PSEUDO_DEFAULT},
                                                                    {"dynamic", CURAND_ORDERING_PSEUDO_DYNAMIC}};
  if (elements < 1) throw InvalidInput("--elements is " + std::to_string(elements) + "; it must be 1 or more");
  CHECK_CUDA(cudaSetDevice(device));
  refuse_more_than_there_is(4.0 * static_cast<double>(elements), "--elements " + std::to_string(elements));
  return std::make_unique<CurandFiller>(types.at(generator), orderings.at(ordering), elements, seed, device);
}

std::unique_ptr<prng::OddCounter> make_curand_counter(const std::string& generator, std::uint64_t seed,
                                                      const prng::Shape& shape) {
  if (shape.per_thread != 1) throw InvalidInput("--per-thread is more than 1: cuRAND has one stream a thread");
  CHECK_CUDA(cudaSetDevice(shape.device));
  if (generator == "curand-mtgp32") {
    if (shape.threads > prng::mtgp32_threads || shape.streams > std::int64_t{prng::mtgp32_blocks} * shape.threads)
      throw InvalidInput("MTGP32 has at most 200 blocks of at most 256 threads");
    if (shape.streams % shape.threads != 0) throw InvalidInput("MTGP32 takes whole blocks");
    return std::make_unique<CurandOddCounter<curandStateMtgp32_t>>(seed, shape);
  }
  if (generator == "curand-xorwow") return std::make_unique<CurandOddCounter<curandStateXORWOW_t>>(seed, shape);
  if (generator == "curand-philox") return std::make_unique<CurandOddCounter<curandStatePhilox4_32_10_t>>(seed, shape);
  if (generator == "curand-mrg32k3a") return std::make_unique<CurandOddCounter<curandStateMRG32k3a_t>>(seed, shape);
  throw InvalidInput("--generators " + generator + ": cuRAND has no such device generator");
}

}  // namespace psflip::gpu
