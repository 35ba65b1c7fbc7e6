// Stage 06: cuRAND's MTGP32, a Mersenne twister that belongs to a block of threads instead of a site.
//
// MTGP32 has a period of 2^11213 - 1 and 1024 words of state, shared by the threads of a block: thread t makes number
// n + t of the block's one sequence, of words that other threads have made before. That sets three limits.
// - A block has 256 threads at most, or they would need words that are not there yet. Here it has just so many.
// - curand() waits for the whole block, so every thread has to call it equally often: no early return, and threads
//   without an element draw as well. Site and stream part: a fixed number of blocks loops over the elements, and
//   which number a site gets depends on the launch. So bits cannot be compared with other stages, only physics.
// - cuRAND has 200 sets of parameters, each a recursion of its own. 200 blocks do not fill a large GPU. More of them
//   share sets, and start elsewhere on the same cycle: of its 2^11213 - 1 places two hashed ones are never close.
//
// Samples of a group do not share their numbers either; every spin has its own.

#include <curand_kernel.h>
#include <curand_mtgp32_host.h>

#include "04_checkerboard/bitwise.hpp"
#include "04_checkerboard/standard.hpp"
#include "05_sliced/mapping.hpp"
#include "05_sliced/sliced.hpp"
#include "05_sliced/words.hpp"
#include "06_prng/curand/curand_mtgp32.hpp"
#include "spin_glass/engine/device_simulation.cuh"
#include "spin_glass/engine/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

constexpr int threads = 256;
// Not as many as the device could take: the same problem has the same numbers on every GPU.
constexpr int most_blocks = 5 * CURAND_NUM_MTGP32_PARAMS;

/// Metropolis: whether a spin flips that has so many unsatisfied bonds of its six.
__device__ bool flips(int unsatisfied, std::uint32_t draw, const Thresholds& thresholds) {
  return unsatisfied + (draw < thresholds.of[0]) + (draw < thresholds.of[1]) + (draw < thresholds.of[2]) >= 3;
}

/// The block's threads copy a state, from or to shared memory.
__device__ void copy_state(curandStateMtgp32_t* to, const curandStateMtgp32_t* from) {
  static_assert(sizeof(curandStateMtgp32_t) % 4 == 0);
  for (unsigned i = threadIdx.x; i < sizeof(curandStateMtgp32_t) / 4; i += blockDim.x)
    reinterpret_cast<std::uint32_t*>(to)[i] = reinterpret_cast<const std::uint32_t*>(from)[i];
}

/// The six couplings of the red sites: along[direction][sample * elements + i].
template <class Word>
struct Couplings {
  const Word* along[directions];
};

/// Updates the sites of one colour, in all samples: element e = sample * elements + i for i = 0 .. elements - 1.
template <Colour colour, class Layout, class Word>
__global__ void __launch_bounds__(threads)
    update(Layout layout, int elements, int samples, int replicas, Word* spins, const Word* others,
           Couplings<Word> couplings, curandStateMtgp32_t* states, ReplicaThresholds thresholds) {
  constexpr int s = sizeof(Word);
  __shared__ curandStateMtgp32_t state;  // read and written by all threads at every number
  copy_state(&state, states + blockIdx.x);
  __syncthreads();

  const std::int64_t all = std::int64_t{samples} * elements;
  for (std::int64_t begin = std::int64_t{blockIdx.x} * threads; begin < all;
       begin += std::int64_t{gridDim.x} * threads) {  // the same for all threads of the block
    const bool has_element = begin + threadIdx.x < all;
    const std::int64_t e = has_element ? begin + threadIdx.x : 0;  // the others look at element 0 and leave it alone
    const std::int64_t sample = e / elements, first = sample * elements;
    const int i = static_cast<int>(e - first);
    const Neighbours neighbours = layout.neighbours(colour, layout.place(i));
    Six<Word> coupling;
    if constexpr (colour == red) {
      for (int d = 0; d < directions; ++d) coupling.in[d] = __ldg(&couplings.along[d][first + i]);
    } else {  // a blue site's bond is its neighbour's, in the opposite direction
      coupling = look_around<Word>(neighbours,
                                   [&](int d, int element) { return __ldg(&couplings.along[d ^ 1][first + element]); });
    }

    for (int replica = 0; replica < replicas; ++replica) {
      Words<s> draw;
      for (int k = 0; k < s; ++k) draw.of[k] = curand(&state);  // waits for all threads: before the `continue`
      if (!has_element) continue;
      const std::int64_t lattice = (sample * replicas + replica) * elements;
      const Six<Word> around =
          look_around<Word>(neighbours, [&](int, int element) { return __ldg(&others[lattice + element]); });
      const Word word = spins[lattice + i];
      Word unsatisfied = 0, flip = 0;  // a byte a site
      for (int d = 0; d < directions; ++d) unsatisfied += word ^ around.in[d] ^ coupling.in[d];
      for (int k = 0; k < s; ++k)
        flip |= static_cast<Word>(flips(unsatisfied >> 8 * k & 0xff, draw.of[k], thresholds[replica])) << 8 * k;
      spins[lattice + i] = word ^ flip;
    }
  }
  copy_state(states + blockIdx.x, &state);  // curand() ended with a barrier
}

/// For DeviceSimulation, which would give every site a stream.
struct NoStreams {
  static constexpr int words = 0;
  static constexpr double bytes(double /*draws*/) { return 0; }
  __device__ static void seed(const States&, std::int64_t, std::uint64_t) {}
};

/// `sites` is the layout with one site an element, `words` the same with s of them.
template <class Layout, class Word>
class Mtgp32Simulation : public DeviceSimulation<Layout, NoStreams> {
 public:
  Mtgp32Simulation(const Problem& problem, const Launch& launch, const Layout& sites, const Layout& words)
      : DeviceSimulation<Layout, NoStreams>(problem, launch, sites, CouplingsOf::red),
        words_(words),
        blocks_(static_cast<int>(
            std::min<std::int64_t>(most_blocks, blocks_for(problem.samples * this->half_ / s, threads)))),
        parameters_(1),
        states_(static_cast<std::size_t>(blocks_)) {
    const curandStatus_t status = curandMakeMTGP32Constants(mtgp32dc_params_fast_11213, parameters_.data());
    if (status != CURAND_STATUS_SUCCESS)
      throw std::runtime_error("curandMakeMTGP32Constants: cuRAND's status " + std::to_string(status));
    seed_blocks();
  }

  void restart() override {
    DeviceSimulation<Layout, NoStreams>::restart();
    seed_blocks();
  }

  double bytes_per_flip() const override {
    const double flips = static_cast<double>(this->problem_.samples * this->problem_.replicas) * this->half_;
    return DeviceSimulation<Layout, NoStreams>::bytes_per_flip() + 2 * static_cast<double>(states_.bytes()) / flips;
  }

 protected:
  void launch_half_sweep(Colour colour) override {
    with_constant<red, blue>(colour, [&]<int constant>() { launch_update<Colour(constant)>(); });
  }

 private:
  static constexpr int s = sizeof(Word);

  /// What curandMakeMTGP32KernelState() does, but for any number of blocks, and with 64 bits of seed instead of 32.
  void seed_blocks() {
    std::vector<curandStateMtgp32_t> states(states_.size());
    for (int block = 0; block < blocks_; ++block) {
      curandStateMtgp32_t& state = states[static_cast<std::size_t>(block)];
      state.pIdx = block % CURAND_NUM_MTGP32_PARAMS;
      state.k = parameters_.data();
      const std::uint64_t seed = stream_seed(this->problem_.seed, 0, static_cast<std::uint64_t>(block));
      unsigned halves[] = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
      mtgp32_init_by_array(state.s, &mtgp32dc_params_fast_11213[state.pIdx], halves, 2);
    }
    states_.copy_from_host(states.data());
  }

  template <Colour colour>
  void launch_update() {
    const Problem& problem = this->problem_;
    Couplings<Word> couplings;
    for (int d = 0; d < directions; ++d) couplings.along[d] = words_of(this->couplings_[red][d]);
    update<colour>
        <<<blocks_, threads>>>(words_, this->half_ / s, static_cast<int>(problem.samples),
                               static_cast<int>(problem.replicas), reinterpret_cast<Word*>(this->spins_[colour].data()),
                               words_of(this->spins_[other(colour)]), couplings, states_.data(), this->thresholds_);
  }

  static const Word* words_of(const DeviceBuffer<std::uint8_t>& bytes) {
    return reinterpret_cast<const Word*>(bytes.data());
  }

  Layout words_;
  int blocks_;
  DeviceBuffer<mtgp32_kernel_params_t> parameters_;
  DeviceBuffer<curandStateMtgp32_t> states_;  ///< [block]
};

}  // namespace

std::unique_ptr<Simulation> make_curand_mtgp32(const Problem& problem, const Launch& launch) {
  if (launch.threads != threads)
    throw InvalidInput("--threads is " + std::to_string(*launch.threads) + ": --generator curand-mtgp32 takes " +
                       std::to_string(threads));
  const double states = 1.0 * most_blocks * sizeof(curandStateMtgp32_t) + sizeof(mtgp32_kernel_params_t);
  refuse_large_problem(problem, launch, bytes_needed<NoStreams>(problem, CouplingsOf::red) + states);
  const int size = static_cast<int>(problem.size);
  if (launch.indexing == Indexing::standard) {
    const Standard layout{size};
    return std::make_unique<Mtgp32Simulation<Standard, std::uint8_t>>(problem, launch, layout, layout);
  }
  if (launch.indexing == Indexing::bitwise) {
    const Bitwise layout{std::countr_zero(static_cast<unsigned>(size))};
    return std::make_unique<Mtgp32Simulation<Bitwise, std::uint8_t>>(problem, launch, layout, layout);
  }
  return with_constant<1, 2, 4, 8>(*launch.sites_per_thread, [&]<int s>() -> std::unique_ptr<Simulation> {
    return std::make_unique<Mtgp32Simulation<Sliced, UnsignedOf<s>>>(problem, launch, Sliced{size, size},
                                                                     Sliced{size, size / s});
  });
}

}  // namespace psflip::PSFLIP_PLATFORM
