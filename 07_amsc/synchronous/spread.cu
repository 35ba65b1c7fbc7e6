// One small system, spread over all multiprocessors.
//
// It is cut into tiles (tiles.hpp), each of which stays in the shared memory of a thread block for as many sweeps as
// are asked for. In a sweep a block updates the red words of its tile and those around it, and then its blue ones. So
// all that it has to be told is blue words around, once per sweep. Nobody waits for a launch or for a barrier of all
// blocks: who writes a word at the edge of a tile puts the sweep's number beside it, in one 8-byte letter, and who
// needs it looks until the number is there. In the meantime the draws of the next sweep are made.

#include <cuda/atomic>
#include <utility>

#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/synchronous/dice.hpp"
#include "07_amsc/synchronous/system_simulation.cuh"
#include "07_amsc/synchronous/tiles.hpp"
#include "07_amsc/synchronous/word_update.cuh"
#include "gpu/constants.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;
using amsc::Box;
using amsc::Crew;
using amsc::Dice;
using amsc::Systems;
using amsc::Tile;
using amsc::Tiles;

/// So that registers are enough for what a thread does.
constexpr int most_threads(int together) { return together == 4 ? 640 : together == 2 ? 768 : 1024; }

/// A word of spins and the number of its sweep, which come together or not at all.
using Letter = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>;

/// What is the same for all threads of a launch.
struct Sweeps {
  Systems systems;
  Tiles tiles;
  int workers;
  bool from_blue, to_red;      ///< the first sweep has no red half, the last one no blue one
  std::uint32_t sweep, count;  ///< the number of the first, and how many there are
  std::uint32_t letters_sent;  ///< sweeps whose letters were written before, in other launches
  Dice dice;
  std::uint32_t* spins[2];        ///< of each colour
  const std::uint32_t* bonds[2];  ///< of each colour
  std::uint64_t* letters;         ///< of the blue words as they lie in memory, for even and odd sweeps
};

/// Where the words of a system are in memory: those of a box begin before the lattice and end behind.
struct InMemory {
  const amsc::SiteWords& words;

  __device__ int operator()(const Box& box, int i) const {
    const int row = words.layout.row, size = words.layout.size, planes = size / 2;
    const int x = i % row, y = box.y + i / row % box.rows, z = box.z + i / row / box.rows;
    return x + row * ((y + size) % size + size * ((z + planes) % planes));
  }
};

/// A worker's word of a colour.
struct Work {
  bool exists;
  int here;   ///< in the box of its colour
  int upper;  ///< in the box of the other one, the word with the same x' and y' in the half-plane above; and below
  int lower;
  int in_memory;
  InRow place;
};

/// blockIdx.x is the tile, blockIdx.y the system.
template <int together, int tops, bool whole>
__global__ void __launch_bounds__(most_threads(together)) update_spread(const __grid_constant__ Sweeps sweeps) {
  using Spins = Words<together>;
  extern __shared__ uint4 memory[];
  const amsc::SiteWords& words = sweeps.systems.words;
  const int row = words.layout.row, thread = static_cast<int>(threadIdx.x);
  const Tile tile = sweeps.tiles.tile(static_cast<int>(blockIdx.x));
  const Box own = tile.own, boxes[2] = {tile.red(), tile.blue()};
  const InMemory in_memory{words};
  const int system = static_cast<int>(blockIdx.y), parts = sweeps.systems.parts();
  const auto sample = static_cast<unsigned>(system / parts), part = static_cast<unsigned>(system % parts);

  // In shared memory: the spins of both boxes, and the bonds of all words that the block updates.
  const int updates[2] = {boxes[red].count() * row, own.count() * row};
  Spins* const spins[2] = {reinterpret_cast<Spins*>(memory), reinterpret_cast<Spins*>(memory) + updates[red]};
  std::uint32_t* const first_bond = reinterpret_cast<std::uint32_t*>(spins[blue] + boxes[blue].count() * row);
  std::uint32_t* const bonds[2] = {first_bond, first_bond + directions * updates[red]};
  Spins* in_all[2];
  for (int colour = red; colour <= blue; ++colour) {
    in_all[colour] = reinterpret_cast<Spins*>(sweeps.spins[colour]) + std::int64_t{system} * words.count();
    for (int i = thread; i < boxes[colour].count() * row; i += static_cast<int>(blockDim.x))
      spins[colour][i] = in_all[colour][in_memory(boxes[colour], i)];
    const Box& updated_box = colour == red ? boxes[red] : own;
    for (int i = thread; i < updates[colour]; i += static_cast<int>(blockDim.x))
      for (int d = 0; d < directions; ++d)
        bonds[colour][d * updates[colour] + i] =
            sweeps.bonds[colour][sweeps.systems.bonds(sample, in_memory(updated_box, i)) + d * Systems::step];
  }
  __syncthreads();

  const auto letters = [&](std::uint32_t sweep, int i) {
    const std::int64_t first = sweep % 2 * sweeps.systems.count() + system;
    return sweeps.letters + (first * words.count() + i) * together;
  };

  // A worker has one word of each colour, if there are as many.
  const bool works = thread < sweeps.workers;
  const auto work_of = [&](Colour colour) {
    const Box& box = boxes[colour];
    const Box& others = boxes[other(colour)];
    const Box& updated_box = colour == red ? box : own;
    const int x = thread % row, y = updated_box.y + thread / row % updated_box.rows,
              z = updated_box.z + thread / row / updated_box.rows;
    const auto in = [&](const Box& b, int plane) { return x + row * (y - b.y + b.rows * (plane - b.z)); };
    return Work{works && thread < updates[colour],     in(box, z),
                in(others, colour == red ? z : z + 1), in(others, colour == red ? z - 1 : z),
                in_memory(updated_box, thread),        {x == 0, x == row - 1, words.bits, words.all()}};
  };
  const Work work[2] = {work_of(red), work_of(blue)};
  const bool tells = tile.at_edge(own.y + thread / row % own.rows, own.z + thread / row / own.rows);

  std::uint32_t accepted[2][amsc::costs][together];
  const auto throw_dice = [&](Colour colour, std::uint32_t sweep) {
    if (!work[colour].exists) return;
    const amsc::Throw which{static_cast<std::uint32_t>(colour * words.count() + work[colour].in_memory),
                            part * together, sweep, sample};
    amsc::throw_dice<tops>(sweeps.dice, which, words.all(), accepted[colour]);
  };
  const auto update = [&](Colour colour) {
    const Work& w = work[colour];
    const Spins *const upper = spins[other(colour)] + w.upper, *const lower = spins[other(colour)] + w.lower;
    Spins around[directions];
    around[plus_x] = upper[(w.place.last ? 1 - row : 1) - row];
    around[minus_x] = lower[(w.place.first ? row - 1 : -1) + row];
    around[plus_y] = lower[row];
    around[minus_y] = upper[-row];
    around[plus_z] = upper[0];
    around[minus_z] = lower[0];
    std::uint32_t bond[directions];
#pragma unroll
    for (int d = 0; d < directions; ++d) bond[d] = bonds[colour][d * updates[colour] + thread];
    return spins[colour][w.here] = updated<whole>(spins[colour][w.here], around, bond, accepted[colour], w.place);
  };

  for (std::uint32_t n = 0; n < sweeps.count; ++n) {
    if (works) {
      throw_dice(red, sweeps.sweep + n);
      throw_dice(blue, sweeps.sweep + n);
    } else if (n > 0) {  // before the first sweep memory has everything
      const std::uint32_t number = sweeps.letters_sent + n;
      for (int i = thread - sweeps.workers; i < tile.rows_around() * row;
           i += static_cast<int>(blockDim.x) - sweeps.workers) {
        const int here = i % row + row * tile.row_around(i / row);
        std::uint64_t* const from = letters(number, in_memory(boxes[blue], here));
        Spins told;
        for (bool all = false; !all;) {
          all = true;
#pragma unroll
          for (int r = 0; r < together; ++r) {
            const std::uint64_t letter = Letter(from[r]).load(cuda::memory_order_relaxed);
            told.of[r] = static_cast<std::uint32_t>(letter >> 32);
            all = all && static_cast<std::uint32_t>(letter) == number;
          }
        }
        spins[blue][here] = told;
      }
    }
    __syncthreads();
    if (work[red].exists && !(n == 0 && sweeps.from_blue)) update(red);
    __syncthreads();
    if (work[blue].exists && !(n == sweeps.count - 1 && sweeps.to_red)) {
      const Spins now = update(blue);
      const std::uint32_t number = sweeps.letters_sent + n + 1;
      std::uint64_t* const to = letters(number, work[blue].in_memory);
      if (tells)
#pragma unroll
        for (int r = 0; r < together; ++r)
          Letter(to[r]).store(std::uint64_t{now.of[r]} << 32 | number, cuda::memory_order_relaxed);
    }
  }

  __syncthreads();
  for (int colour = red; colour <= blue; ++colour) {
    const Box& box = boxes[colour];
    for (int i = thread; i < updates[blue]; i += static_cast<int>(blockDim.x)) {
      const int y = own.y - box.y + i / row % own.rows, z = own.z - box.z + i / row / own.rows;
      in_all[colour][in_memory(own, i)] = spins[colour][i % row + row * (y + box.rows * z)];
    }
  }
}

Tiles tiles_of(const Problem& problem, const Launch& launch) {
  return {static_cast<int>(problem.size), *launch.cluster};
}
Crew crew_of(const Problem& problem, const Launch& launch) {
  return {tiles_of(problem, launch).largest(), amsc::SiteWords(static_cast<int>(problem.size)).layout.row,
          most_threads(*launch.replicas_together)};
}
std::size_t bytes_of_tile(const Problem& problem, const Launch& launch) {
  const Tile largest = tiles_of(problem, launch).largest();
  const int spins = (largest.red().count() + largest.blue().count()) * *launch.replicas_together;
  const int bonds = (largest.red().count() + largest.own.count()) * directions;
  return sizeof(std::uint32_t) * static_cast<std::size_t>(spins + bonds) *
         static_cast<std::size_t>(amsc::SiteWords(static_cast<int>(problem.size)).layout.row);
}

/// Calls f(kernel) with that for such words, thresholds and replicas.
template <class F>
void with_kernel(int together, int bits, int costs_with_top, F f) {
  with_constant<1, 2, 4>(together, [&]<int replicas>() {
    if (bits < 32)
      f(update_spread<replicas, amsc::costs, false>);
    else
      with_constant<1, 2, 3>(std::max(costs_with_top, 1), [&]<int tops>() { f(update_spread<replicas, tops, true>); });
  });
}

class SpreadSimulation : public SystemSimulation {
 public:
  SpreadSimulation(const Problem& problem, const Launch& launch)
      : SystemSimulation(problem, launch),
        dice_(problem.seed, thresholds(problem.beta, problem.generator)),
        letters_(2 * static_cast<std::size_t>(systems_.all_spins())) {
    CHECK_CUDA(cudaMemset(letters_.data(), 0, letters_.bytes()));
  }

  static double bytes_needed(const Problem& problem, const Launch& launch) {
    const double words = static_cast<double>(problem.samples * problem.replicas) *
                         amsc::SiteWords(static_cast<int>(problem.size)).count();
    return SystemSimulation::bytes_needed(problem, launch) + 2 * sizeof(std::uint64_t) * words;
  }

  /// Of many sweeps in one launch: what is at edges comes from the L2 cache.
  double bytes_per_flip() const override { return 0; }

 protected:
  void update(std::int64_t half_sweeps) override {
    const Crew crew = crew_of(problem_, launch_);
    const std::size_t bytes = bytes_of_tile(problem_, launch_);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeCooperative;  // or a block might wait for one that has no place yet
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.blockDim = dim3(crew.workers + crew.messengers);
    config.gridDim = dim3(*launch_.cluster, static_cast<unsigned>(systems_.count()));
    config.dynamicSmemBytes = bytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    const std::int64_t end = half_sweeps_done_ + half_sweeps;
    while (half_sweeps_done_ < end) {
      const std::int64_t to = std::min(end, (half_sweeps_done_ / 2 + most_sweeps) * 2);
      Sweeps sweeps{systems_,
                    tiles_of(problem_, launch_),
                    crew.workers,
                    half_sweeps_done_ % 2 == blue,
                    to % 2 == blue,
                    static_cast<std::uint32_t>(half_sweeps_done_ / 2),
                    static_cast<std::uint32_t>((to + 1) / 2 - half_sweeps_done_ / 2),
                    letters_sent_,
                    dice_,
                    {spins_[red].data(), spins_[blue].data()},
                    {bonds_[red].data(), bonds_[blue].data()},
                    letters_.data()};
      with_kernel(systems_.together, systems_.words.bits, dice_.costs_with_top, [&](auto kernel) {
        CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
        CHECK_CUDA(cudaLaunchKernelEx(&config, kernel, sweeps));
      });
      letters_sent_ += sweeps.count;
      half_sweeps_done_ = to;
    }
  }

 private:
  static constexpr std::int64_t most_sweeps = 1 << 20;  // of a launch

  Dice dice_;
  DeviceBuffer<std::uint64_t> letters_;
  std::uint32_t letters_sent_ = 0;
};

}  // namespace

int spread_threads(const Problem& problem, const Launch& launch) {
  const Crew crew = crew_of(problem, launch);
  return tiles_of(problem, launch).possible() && crew.possible() ? crew.workers + crew.messengers : 0;
}

std::int64_t spread_blocks(const Problem& problem, const Launch& launch) {
  const std::size_t bytes = bytes_of_tile(problem, launch);
  int multiprocessors = 0, shared_bytes = 0, blocks = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, launch.device));
  CHECK_CUDA(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, launch.device));
  if (bytes > static_cast<std::size_t>(shared_bytes)) return 0;
  with_kernel(
      *launch.replicas_together, amsc::SiteWords(static_cast<int>(problem.size)).bits, amsc::costs, [&](auto kernel) {
        CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
        CHECK_CUDA(
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, spread_threads(problem, launch), bytes));
      });
  return std::int64_t{blocks} * multiprocessors;
}

std::unique_ptr<Simulation> make_spread(const Problem& problem, const Launch& launch) {
  refuse_large_problem(problem, launch, SpreadSimulation::bytes_needed(problem, launch));
  return std::make_unique<SpreadSimulation>(problem, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
