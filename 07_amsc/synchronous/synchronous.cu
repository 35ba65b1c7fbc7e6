// Synchronous multispin coding: 32 sites of one system in a word, and a draw of its own for every one of them.
//
// A thread has a word, in some replicas: it throws the dice for all of its sites (dice.hpp), fetches the words around
// and updates them as metropolis.hpp does. Draws need no spins. So a launch may begin while the one before it is still
// at work, and makes its draws; only then it waits for the spins.

#include "07_amsc/elements.hpp"
#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/synchronous/dice.hpp"
#include "07_amsc/synchronous/graph.hpp"
#include "07_amsc/synchronous/system_simulation.cuh"
#include "07_amsc/synchronous/word_update.cuh"
#include "gpu/constants.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;
using amsc::Dice;
using amsc::Systems;

constexpr int most_block = 128, blocks_per_multiprocessor = 7;  // so that a thread may have 72 registers
constexpr std::int64_t most_systems = 65535;                    // of a launch

/// What is the same for all threads of a launch.
struct HalfSweep {
  int size, row, plane, words;  ///< L, and words of a row, of a plane and of a colour
  int bits;                     ///< sites of a word
  Divisor by_row, by_parts;
  int parts;              ///< systems of a sample
  unsigned first_sample;  ///< of this launch
  std::int64_t bonds_of_sample;
  Colour colour;
  const std::uint32_t* first_sweep;
  std::uint32_t sweep;  ///< its number, counted from *first_sweep
  Dice dice;
  std::uint32_t* own;           ///< spins of the colour
  const std::uint32_t* others;  ///< of the other one
  const std::uint32_t* bonds;   ///< of the colour
};

/// The launch before has ended, and so have all before that, for it has waited, too. The next one may begin.
__device__ void wait_for_spins() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// A thread takes a word of the plane blockIdx.y * blockDim.y + threadIdx.y in system blockIdx.z of the launch.
/// `whole`: words have 32 sites.
template <int together, int tops, bool whole>
__global__ void __launch_bounds__(most_block, blocks_per_multiprocessor)
    update_words(const __grid_constant__ HalfSweep half) {
  using Spins = Words<together>;
  const int size = half.size, row = half.row, plane = half.plane, planes = size / 2;
  const int in_plane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int z = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (in_plane >= plane || z >= planes) return;  // whole blocks cover the words
  const int i = in_plane + plane * z;
  const unsigned sample_here = half.parts > 1 ? half.by_parts.quotient(blockIdx.z) : blockIdx.z;
  const unsigned sample = half.first_sample + sample_here, part = blockIdx.z - sample_here * half.parts;

  std::uint32_t bonds[directions];
  const std::uint32_t* const first_bond = half.bonds + sample * half.bonds_of_sample + Systems::bond(i);
#pragma unroll
  for (int d = 0; d < directions; ++d) bonds[d] = __ldg(first_bond + d * Systems::step);

  std::uint32_t accepted[amsc::costs][together];
  const amsc::Throw which{static_cast<std::uint32_t>(half.colour * half.words + i), part * together,
                          *half.first_sweep + half.sweep, sample};
  const std::uint32_t sites = whole ? ~0u : ~0u >> (32 - half.bits);
  amsc::throw_dice<tops>(half.dice, which, sites, accepted);

  // Where the neighbours are: as in 05_sliced/sliced.hpp, in fewer operations.
  const std::int64_t lattice = (std::int64_t{sample} * half.parts + part) * half.words;
  const auto* const others = reinterpret_cast<const Spins*>(half.others) + lattice;
  const Spins* const upper = others + plane * (half.colour == red ? z : after(z, planes));
  const Spins* const lower = others + plane * (half.colour == red ? before(z, planes) : z);
  auto* const own = reinterpret_cast<Spins*>(half.own) + lattice + i;
  const int y = row > 1 ? half.by_row.quotient(in_plane) : in_plane, x = in_plane - y * row;
  const int before_y = y > 0 ? in_plane - row : in_plane - row + plane, after_y = y < size - 1 ? in_plane + row : x;
  const bool at_end = x == row - 1, at_begin = x == 0;

  wait_for_spins();
  Spins around[directions];
  const Spins spins = *own;
  around[plus_x] = upper[at_end ? before_y + 1 - row : before_y + 1];
  around[minus_x] = lower[at_begin ? after_y - 1 + row : after_y - 1];
  around[plus_y] = lower[after_y];
  around[minus_y] = upper[before_y];
  around[plus_z] = upper[in_plane];
  around[minus_z] = lower[in_plane];
  *own = updated<whole>(spins, around, bonds, accepted, {at_begin, at_end, half.bits, sites});
}

__global__ void set_sweep(std::uint32_t* sweep, std::uint32_t value) { *sweep = value; }
__global__ void add_sweeps(std::uint32_t* sweep, std::uint32_t more) { *sweep += more; }

class SynchronousSimulation : public SystemSimulation {
 public:
  SynchronousSimulation(const Problem& problem, const Launch& launch)
      : SystemSimulation(problem, launch),
        dice_(origin(problem), thresholds(problem.beta, problem.generator)),
        first_sweep_(1) {
    int clusters = 0;  // came with early launches, in compute capability 9.0
    CHECK_CUDA(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, launch.device));
    early_ = clusters != 0;
  }

 protected:
  void update(std::int64_t half_sweeps) override {
    const std::int64_t end = this->half_sweeps_done_ + half_sweeps;
    if (this->half_sweeps_done_ % 2 == blue) go_on_to(this->half_sweeps_done_ + 1);
    if (end - this->half_sweeps_done_ >= 2 * sweeps_of_graph) {
      if (!graph_)
        graph_ = Graph([&](cudaStream_t stream) {
          for (int h = 0; h < 2 * sweeps_of_graph; ++h) launch_half_sweep(h, h > 0, stream);
          add_sweeps<<<1, 1, 0, stream>>>(first_sweep_.data(), sweeps_of_graph);
        });
      begin_at(this->half_sweeps_done_ / 2);
      for (; end - this->half_sweeps_done_ >= 2 * sweeps_of_graph; this->half_sweeps_done_ += 2 * sweeps_of_graph)
        graph_.launch();
    }
    go_on_to(end);
  }

 private:
  static constexpr int sweeps_of_graph = 32;

  void begin_at(std::int64_t sweep) {
    set_sweep<<<1, 1>>>(first_sweep_.data(), static_cast<std::uint32_t>(sweep));
    CHECK_CUDA(cudaGetLastError());
  }

  void go_on_to(std::int64_t end) {
    if (this->half_sweeps_done_ == end) return;
    begin_at(this->half_sweeps_done_ / 2);
    for (int h = this->half_sweeps_done_ % 2, first = h; this->half_sweeps_done_ < end; ++h, ++this->half_sweeps_done_)
      launch_half_sweep(h, h > first, nullptr);
  }

  /// Half-sweep number h, counted from the red one of *first_sweep. `early`: what comes before it in the stream is one,
  /// too, for whose spins it waits by itself; not what sets *first_sweep, which it reads at once.
  void launch_half_sweep(int h, bool early, cudaStream_t stream) {
    const Systems& systems = this->systems_;
    const auto colour = static_cast<Colour>(h % 2);
    HalfSweep half{this->size_,
                   systems.words.layout.row,
                   systems.words.layout.row * this->size_,
                   systems.words.count(),
                   systems.words.bits,
                   Divisor(systems.words.layout.row),
                   Divisor(systems.parts()),
                   systems.parts(),
                   0,
                   systems.bonds_of_sample(),
                   colour,
                   first_sweep_.data(),
                   static_cast<std::uint32_t>(h / 2),
                   dice_,
                   this->spins_[colour].data(),
                   this->spins_[other(colour)].data(),
                   this->bonds_[colour].data()};
    const std::int64_t at_once = most_systems / systems.parts();  // samples
    for (std::int64_t first = 0; first < systems.samples; first += at_once, early = true) {
      half.first_sample = static_cast<unsigned>(first);
      const auto count = static_cast<unsigned>(std::min(at_once, systems.samples - first) * systems.parts());
      with_constant<1, 2, 4>(systems.together, [&]<int together>() {
        if (systems.words.bits < 32)
          start(update_words<together, amsc::costs, false>, half, count, early, stream);
        else
          with_constant<1, 2, 3>(std::max(dice_.costs_with_top, 1), [&]<int tops>() {
            start(update_words<together, tops, true>, half, count, early, stream);
          });
      });
    }
  }

  void start(void (*kernel)(HalfSweep), const HalfSweep& half, unsigned count, bool early, cudaStream_t stream) {
    const int threads = *this->launch_.threads, in_plane = std::min(threads, half.plane);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.blockDim = dim3(in_plane, threads / in_plane);
    config.gridDim = dim3(blocks_for(half.plane, in_plane), blocks_for(this->size_ / 2, config.blockDim.y), count);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = early && early_ ? 1 : 0;
    CHECK_CUDA(cudaLaunchKernelEx(&config, kernel, half));
  }

  Dice dice_;
  bool early_;  ///< the device can begin a launch before the one before it has ended
  DeviceBuffer<std::uint32_t> first_sweep_;
  Graph graph_;  ///< of sweeps_of_graph sweeps
};

}  // namespace

std::unique_ptr<Simulation> make_synchronous(const Problem& problem, const Launch& launch) {
  refuse_large_problem(problem, launch, SystemSimulation::bytes_needed(problem, launch));
  return std::make_unique<SynchronousSimulation>(problem, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
