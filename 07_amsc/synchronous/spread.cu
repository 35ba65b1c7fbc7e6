// One small system, spread over all multiprocessors.
//
// It is cut into tiles (tiles.hpp), each of which stays in the shared memory of a thread block for as many sweeps as
// are asked for. Nobody waits for a launch or for a barrier of all blocks: who writes a word at the edge of a tile puts
// the sweep's number beside it, in one letter of 8 bytes, and who needs it looks until the number is there. Threads
// have one task each: a worker updates one word, red or blue, and makes its draws while the other colour has its turn
// and letters are under way; messengers fetch letters.

#include <cuda/atomic>

#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/kernels/mbarrier.cuh"
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
using amsc::SystemTile;
using amsc::SystemTiles;

/// So that registers are enough for what a thread does.
constexpr int most_tile_threads(int together) { return together == 4 ? 640 : together == 2 ? 768 : 1024; }

/// A word of spins and the number of its sweep, which come together or not at all.
using Letter = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>;

/// What is the same for all threads of a launch.
struct SpreadSweeps {
  Systems systems;
  SystemTiles tiles;
  Crew crew;
  bool from_blue, to_red;      ///< the first sweep has no red half, the last one no blue one
  std::uint32_t sweep, count;  ///< the number of the first, and how many there are
  std::uint32_t letters_sent;  ///< the number of the first letters; sweep n of the launch has number n + 1 after it
  Dice dice;
  std::uint32_t* spins[2];        ///< of each colour
  const std::uint32_t* bonds[2];  ///< of each colour
  std::uint64_t* letters;         ///< of the words of both colours as they lie in memory, for even and odd sweeps
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

/// When a colour of a block's box is complete: its own words, and those that others have updated.
class Complete {
 public:
  __device__ void begin(int threads) { __mbarrier_init(&barrier_, static_cast<unsigned>(threads)); }
  /// Once per sweep.
  __device__ void arrive() { __mbarrier_arrive(&barrier_); }
  /// Asking again and again: a warp that lets itself be woken comes late.
  __device__ void wait(std::uint32_t sweep) {
    while (!__mbarrier_test_wait_parity(&barrier_, sweep % 2 != 0)) {
    }
  }

 private:
  __mbarrier_t barrier_;
};

/// blockIdx.x is the tile, blockIdx.y the system.
template <int together, int tops, bool whole>
__global__ void __launch_bounds__(most_tile_threads(together))
    update_spread(const __grid_constant__ SpreadSweeps sweeps) {
  using Spins = Words<together>;
  extern __shared__ uint4 memory[];
  __shared__ Complete complete[2];
  const amsc::SiteWords& words = sweeps.systems.words;
  const int row = words.layout.row, thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const Crew& crew = sweeps.crew;
  const SystemTile tile = sweeps.tiles.tile(static_cast<int>(blockIdx.x));
  const Box own = tile.own, kept[2] = {tile.kept(red), tile.kept(blue)};
  const InMemory in_memory{words};
  const int system = static_cast<int>(blockIdx.y), parts = sweeps.systems.parts();
  const auto sample = static_cast<unsigned>(system / parts), part = static_cast<unsigned>(system % parts);

  // Number i of the words of a colour that the block updates, in its box.
  const auto word_updated = [&](Colour colour, int i) { return i % row + row * tile.row_updated(colour, i / row); };

  // In shared memory: the spins of both colours, and the bonds of all words that the block updates.
  const int updates[2] = {tile.rows_updated(red) * row, tile.rows_updated(blue) * row};
  Spins* const spins[2] = {reinterpret_cast<Spins*>(memory),
                           reinterpret_cast<Spins*>(memory) + kept[red].count() * row};
  auto* const first_bond = reinterpret_cast<std::uint32_t*>(spins[blue] + kept[blue].count() * row);
  std::uint32_t* const bonds[2] = {first_bond, first_bond + directions * updates[red]};
  Spins* in_memory_of[2];
  for (const Colour colour : {red, blue}) {
    in_memory_of[colour] = reinterpret_cast<Spins*>(sweeps.spins[colour]) + std::int64_t{system} * words.count();
    for (int i = thread; i < kept[colour].count() * row; i += threads)
      spins[colour][i] = in_memory_of[colour][in_memory(kept[colour], i)];
    for (int i = thread; i < updates[colour]; i += threads)
      for (int d = 0; d < directions; ++d)
        bonds[colour][d * updates[colour] + i] =
            sweeps.bonds[colour][sweeps.systems.bonds(sample, in_memory(kept[colour], word_updated(colour, i))) +
                                 d * Systems::step];
  }
  const bool told_of_red = tile.reach == 1;
  if (thread == 0) {
    complete[red].begin(crew.workers[red] + (told_of_red ? crew.messengers : 0));
    complete[blue].begin(crew.workers[blue] + crew.messengers);
  }
  __syncthreads();

  const auto letters = [&](Colour colour, std::uint32_t number, int i) {
    const std::int64_t first = (colour * 2 + number % 2) * sweeps.systems.count() + system;
    return sweeps.letters + (first * words.count() + i) * together;
  };

  // A worker makes draws, waits for the other colour, and updates its word.
  const auto work = [&](Colour colour, int i) {
    const Box box = kept[colour], others = kept[other(colour)];
    const bool has_word = i < updates[colour];
    const int in_box = word_updated(colour, has_word ? i : 0), in_all = in_memory(box, in_box);
    const int x = in_box % row, y = box.y + in_box / row % box.rows, z = box.z + in_box / row / box.rows;
    const auto in_others = [&](int plane) { return x + row * (y - others.y + others.rows * (plane - others.z)); };
    const InRow place{x == 0, x == row - 1, words.bits, words.all()};
    const bool tells = (colour == blue || told_of_red) && tile.at_edge(y, z);
    Spins* const mine = spins[colour] + in_box;
    const Spins* const upper = spins[other(colour)] + in_others(colour == red ? z : z + 1);
    const Spins* const lower = spins[other(colour)] + in_others(colour == red ? z - 1 : z);
    const auto tell = [&](const Spins& now, std::uint32_t number, cuda::memory_order order) {
      std::uint64_t* const to = letters(colour, number, in_all);
      if (tells)
#pragma unroll
        for (int r = 0; r < together; ++r) Letter(to[r]).store(std::uint64_t{now.of[r]} << 32 | number, order);
    };
    // The first letter says what came from memory, and that this block has read all that it needs there: the others may
    // write. No later letter is about anything but itself.
    if (has_word) tell(*mine, sweeps.letters_sent, cuda::memory_order_release);
    if (colour == blue) complete[blue].arrive();
    for (std::uint32_t n = 0; n < sweeps.count; ++n) {
      const bool updates_now = has_word && !(n == 0 && colour == red && sweeps.from_blue) &&
                               !(n == sweeps.count - 1 && colour == blue && sweeps.to_red);
      std::uint32_t accepted[amsc::costs][together];
      if (updates_now)
        amsc::throw_dice<tops>(
            sweeps.dice,
            {static_cast<std::uint32_t>(colour * words.count() + in_all), part * together, sweeps.sweep + n, sample},
            words.all(), accepted);
      complete[other(colour)].wait(n);
      if (updates_now) {
        Spins around[directions];
        around[plus_x] = upper[(place.last ? 1 - row : 1) - row];
        around[minus_x] = lower[(place.first ? row - 1 : -1) + row];
        around[plus_y] = lower[row];
        around[minus_y] = upper[-row];
        around[plus_z] = upper[0];
        around[minus_z] = lower[0];
        std::uint32_t bond[directions];
#pragma unroll
        for (int d = 0; d < directions; ++d) bond[d] = bonds[colour][d * updates[colour] + i];
        *mine = updated<whole>(*mine, around, bond, accepted, place);
        tell(*mine, sweeps.letters_sent + n + 1, cuda::memory_order_relaxed);
      }
      complete[colour].arrive();
    }
  };

  // Messengers wait for letters, and put the spins where workers look.
  const auto fetch_letters = [&](Colour colour, std::uint32_t number, cuda::memory_order order) {
    for (int i = thread - crew.all_workers(); i < tile.rows_told(colour) * row; i += crew.messengers) {
      const int to = i % row + row * tile.row_told(colour, i / row);
      std::uint64_t* const from = letters(colour, number, in_memory(kept[colour], to));
      Spins told;
      for (bool all = false; !all;) {
        all = true;
#pragma unroll
        for (int r = 0; r < together; ++r) {
          const std::uint64_t letter = Letter(from[r]).load(order);
          told.of[r] = static_cast<std::uint32_t>(letter >> 32);
          all = all && static_cast<std::uint32_t>(letter) == number;
        }
      }
      spins[colour][to] = told;
    }
  };

  if (thread < crew.workers[red]) {
    work(red, thread);
  } else if (thread < crew.all_workers()) {
    work(blue, thread - crew.workers[red]);
  } else {
    for (const Colour colour : {red, blue})
      if (colour == blue || told_of_red) fetch_letters(colour, sweeps.letters_sent, cuda::memory_order_acquire);
    for (std::uint32_t n = 0; n < sweeps.count; ++n) {
      if (n > 0) fetch_letters(blue, sweeps.letters_sent + n, cuda::memory_order_relaxed);
      complete[blue].arrive();
      if (told_of_red) {
        complete[blue].wait(n);  // nobody reads the red words now
        if (n > 0 || !sweeps.from_blue) fetch_letters(red, sweeps.letters_sent + n + 1, cuda::memory_order_relaxed);
        complete[red].arrive();
      }
      complete[red].wait(n);  // nobody reads the blue ones
    }
  }

  __syncthreads();
  for (const Colour colour : {red, blue}) {
    const Box& box = kept[colour];
    for (int i = thread; i < own.count() * row; i += threads) {
      const int y = own.y - box.y + i / row % own.rows, z = own.z - box.z + i / row / own.rows;
      in_memory_of[colour][in_memory(own, i)] = spins[colour][i % row + row * (y + box.rows * z)];
    }
  }
}

/// Where a tile has more, draws take longer than letters, and there is no time for what others do as well. Measured on
/// an H200: 432 words are faster with reach 2, 1024 with 1.
constexpr int most_words_of_wide_reach = 700;

SystemTiles tiles_of(const Problem& problem, const Launch& launch) {
  const auto size = static_cast<int>(problem.size);
  const SystemTiles tiles{size, *launch.cluster, 1};
  const int words = tiles.largest().own.count() * amsc::SiteWords(size).layout.row * *launch.replicas_together;
  return {size, *launch.cluster, words > most_words_of_wide_reach ? 1 : 2};
}
Crew crew_of(const Problem& problem, const Launch& launch) {
  return {tiles_of(problem, launch).largest(), amsc::SiteWords(static_cast<int>(problem.size)).layout.row,
          most_tile_threads(*launch.replicas_together)};
}
std::size_t bytes_of_tile(const Problem& problem, const Launch& launch) {
  const SystemTile largest = tiles_of(problem, launch).largest();
  const int spins = (largest.kept(red).count() + largest.kept(blue).count()) * *launch.replicas_together;
  const int bonds = (largest.rows_updated(red) + largest.rows_updated(blue)) * directions;
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
        dice_(origin(problem), thresholds(problem.beta, problem.generator)),
        letters_(4 * static_cast<std::size_t>(systems_.all_spins())) {
    CHECK_CUDA(cudaMemset(letters_.data(), 0, letters_.bytes()));
  }

  static double bytes_needed(const Problem& problem, const Launch& launch) {
    const double words = static_cast<double>(problem.samples * problem.replicas) *
                         amsc::SiteWords(static_cast<int>(problem.size)).count();
    return SystemSimulation::bytes_needed(problem, launch) + 4 * sizeof(std::uint64_t) * words;
  }

  /// Of many sweeps in one launch: letters stay in the L2 cache.
  double bytes_per_flip() const override { return 0; }

 protected:
  void update(std::int64_t half_sweeps) override {
    const Crew crew = crew_of(problem_, launch_);
    const std::size_t bytes = bytes_of_tile(problem_, launch_);
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeCooperative;  // or a block might wait for one that has no place yet
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.blockDim = dim3(crew.threads());
    config.gridDim = dim3(*launch_.cluster, static_cast<unsigned>(systems_.count()));
    config.dynamicSmemBytes = bytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    const std::int64_t end = half_sweeps_done_ + half_sweeps;
    while (half_sweeps_done_ < end) {
      const std::int64_t to = std::min(end, (half_sweeps_done_ / 2 + most_sweeps) * 2);
      SpreadSweeps sweeps{systems_,
                          tiles_of(problem_, launch_),
                          crew,
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
      letters_sent_ += sweeps.count + 1;
      half_sweeps_done_ = to;
    }
  }

 private:
  static constexpr std::int64_t most_sweeps = 1 << 20;  // of a launch

  Dice dice_;
  DeviceBuffer<std::uint64_t> letters_;
  std::uint32_t letters_sent_ = 1;  ///< memory of letters has zeros at first
};

}  // namespace

Crew spread_crew(const Problem& problem, const Launch& launch) {
  Crew crew = crew_of(problem, launch);
  if (!tiles_of(problem, launch).possible()) crew.messengers = 0;
  return crew;
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
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, crew_of(problem, launch).threads(), bytes));
      });
  return std::int64_t{blocks} * multiprocessors;
}

std::unique_ptr<Simulation> make_spread(const Problem& problem, const Launch& launch) {
  refuse_large_problem(problem, launch, SpreadSimulation::bytes_needed(problem, launch));
  return std::make_unique<SpreadSimulation>(problem, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
