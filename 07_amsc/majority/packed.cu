// Stage 07, 2D majority: one bit a spin, and several steps in one pass over the lattice.
//
// The rule is the same for all sites, so one operation on a word can serve 32 of them: synchronous multispin coding.
// Five words go in, their bitwise majority comes out, in four operations. After that memory is all the time there is:
// two bits a site and step. So let a warp take several steps before it writes. It walks down a strip of the lattice,
// each thread 128 sites wide, with the last two rows of the state after 0, 1, 2, ... steps in its registers. A row that
// enters completes the row above it one step later, which completes the one above that two steps later, and so on; what
// comes out at the end is finished. Threads swap the bits at their edges by shuffles. No shared memory, no barrier.
//
// A strip is computed without its surroundings, so its edges go wrong by one site a step. One thread on each side, and
// `steps` rows above and below, are read and computed by two warps, and only the warp that has them right writes them.

#include <limits>

#include "07_amsc/majority/majority_of_five.hpp"
#include "07_amsc/majority/packed.hpp"
#include "app/invalid_input.hpp"
#include "gpu/constants.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/timer.hpp"
#include "majority/device_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

constexpr int threads = 128;      // of a block: four warps, one for each scheduler of a multiprocessor
constexpr int strip_groups = 30;  // a warp's threads but for the two at its edges
constexpr int most_steps = 16;    // a pass; beyond that registers are short
constexpr int default_steps = 8;
constexpr unsigned all_lanes = 0xffffffff;

/// Blocks that a multiprocessor holds at a time: it has 512 registers for each of their threads. Every step takes
/// eight, for two rows, and some to compute with.
constexpr int resident_blocks(int steps) { return 512 / (52 + 12 * steps); }

/// One step of a group of `here`. All lanes of the warp call it, with groups that lie side by side.
__device__ uint4 updated(uint4 above, uint4 here, uint4 below) {
  const unsigned before = __shfl_up_sync(all_lanes, here.w, 1), behind = __shfl_down_sync(all_lanes, here.x, 1);
  const unsigned left = __funnelshift_l(before, here.w, 1), right = __funnelshift_r(here.x, behind, 1);
  return make_uint4(majority_of_five(left, here.x, here.y, above.x, below.x),
                    majority_of_five(here.x, here.y, here.z, above.y, below.y),
                    majority_of_five(here.y, here.z, here.w, above.z, below.z),
                    majority_of_five(here.z, here.w, right, above.w, below.w));
}

/// Writes the group of a row that begins `shift` sites behind the first of `group`. What was word `from` becomes the
/// word `shift` sites before it: of this group or, one bit further, of the one before.
__device__ void write_shifted(uint4* target, uint4 group, uint4 following, int shift) {
  unsigned* words = reinterpret_cast<unsigned*>(target);
  const auto write = [&](int from, unsigned low, unsigned high) {
    const int w = (from - shift) & 3;
    words[w] = static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (w + shift) / 4);
  };
  write(0, group.x, following.x);
  write(1, group.y, following.y);
  write(2, group.z, following.z);
  write(3, group.w, following.w);
}

__device__ uint4 of_next_lane(uint4 row) {
  return make_uint4(__shfl_down_sync(all_lanes, row.x, 1), __shfl_down_sync(all_lanes, row.y, 1),
                    __shfl_down_sync(all_lanes, row.z, 1), __shfl_down_sync(all_lanes, row.w, 1));
}

/// `steps` steps at once. A warp computes `rows` rows of a strip.
template <int steps>
__global__ void __launch_bounds__(threads, resident_blocks(steps))
    update(const uint4* __restrict__ now, uint4* __restrict__ next, PackedLayout layout, int rows) {
  const int strips = (layout.groups - 1) / strip_groups + 1;
  const int warp = (blockIdx.x * threads + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const int first = warp / strips * rows, end = min(first + rows, layout.size);
  if (first >= layout.size) return;  // whole blocks cover the lattice: the last warps may have no rows

  const int strip = warp % strips, group = min(strip * strip_groups + lane - 1, layout.groups);
  const bool mine = lane > 0 && lane <= strip_groups && group < layout.groups;
  // The first two groups make the halo behind the last, and the last two that before the first.
  const bool begins = group == 0, ends = strip == strips - 1 && group == layout.groups - 2;
  const auto write = [&](uint4 row, int y) {
    if (mine) next[layout.index(y, group)] = row;
    if (strip > 0 && strip < strips - 1) return;
    const uint4 following = of_next_lane(row);
    if (begins || ends)
      write_shifted(&next[layout.index(y, begins ? layout.groups : -1)], row, following,
                    begins ? PackedLayout::group_sites - layout.tail : layout.tail);
  };

  int entering = (first - steps) % layout.size;
  if (entering < 0) entering += layout.size;
  const auto read = [&] {
    const uint4 row = now[layout.index(entering, group)];
    if (++entering == layout.size) entering = 0;
    return row;
  };

  uint4 rows_ahead[2] = {read(), read()};             // on their way while the rows before them are worked on
  uint4 last[steps][2] = {};                          // rows of the state after t steps, the older one at `parity`
  for (int y = first - 2 * steps; y < end; y += 2) {  // y leaves when y + steps enters
    uint4 row[2] = {rows_ahead[0], rows_ahead[1]};
    if (y + 2 < end) rows_ahead[0] = read(), rows_ahead[1] = read();
#pragma unroll
    for (int parity = 0; parity < 2; ++parity) {
#pragma unroll
      for (int t = 0; t < steps; ++t) {
        const uint4 later = updated(last[t][parity], last[t][1 - parity], row[parity]);
        last[t][parity] = row[parity];
        row[parity] = later;
      }
    }
    if (y < first) continue;  // these rows lack their neighbours above
    write(row[0], y);
    if (y + 1 < end) write(row[1], y + 1);
  }
}

/// From `rows` rows of bytes, the first of them number first_row, to bits. A warp a group, a lane a bit of each word.
__global__ void pack(const majority::Spin* spins, uint4* packed, PackedLayout layout, int first_row, int rows) {
  const std::int64_t warps = std::int64_t{gridDim.x} * (blockDim.x / 32),
                     count = std::int64_t{rows} * (layout.groups + 2);
  const int lane = threadIdx.x % 32;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32; i < count; i += warps) {
    const int y = static_cast<int>(i / (layout.groups + 2)), group = static_cast<int>(i % (layout.groups + 2)) - 1;
    const int x = layout.width + group * PackedLayout::group_sites + 4 * lane;  // width: not to be negative
    const majority::Spin* row = spins + std::int64_t{y} * layout.size;
    unsigned words[4];
    for (int w = 0; w < 4; ++w) words[w] = __ballot_sync(all_lanes, row[(x + w) % layout.size] > 0);
    if (lane == 0) packed[layout.index(first_row + y, group)] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/// The other way.
__global__ void unpack(const uint4* packed, majority::Spin* spins, PackedLayout layout, int first_row, int rows) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x, count = std::int64_t{rows} * layout.size;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    const int y = static_cast<int>(i / layout.size), x = static_cast<int>(i % layout.size);
    const int group = x / PackedLayout::group_sites, site = x % PackedLayout::group_sites;
    const auto* words = reinterpret_cast<const unsigned*>(&packed[layout.index(first_row + y, group)]);
    spins[i] = words[site % 4] >> site / 4 & 1 ? 1 : -1;
  }
}

/// How many rows a warp should compute, from a model of the time: a scheduler's warps take turns, so it grows with
/// their number and with the rows of each, `2 * steps` of them read and computed for the rows beside; but it takes some
/// warps to hide each other's waiting, most of them in passes of few steps, which wait for memory.
int rows_a_warp(const PackedLayout& layout, int steps, int schedulers) {
  if (steps == 1) return std::min(layout.size, 8);  // nearly all of it is waiting: few rows, many warps
  const int strips = blocks_for(layout.groups, strip_groups);
  const int enough = std::max(2, 12 / steps);
  int best = layout.size;
  double least = std::numeric_limits<double>::max();
  for (int warps = 1; warps <= resident_blocks(steps); ++warps) {  // of a scheduler, which has one of each block
    const int rows = blocks_for(layout.size, std::max(1, warps * schedulers / strips));
    const double time = std::max(warps, enough) * (rows + 2.0 * steps);
    if (time < least) least = time, best = rows;
  }
  return best;
}

class Packed : public majority::Simulation {
 public:
  Packed(int size, const majority::Launch& launch) : layout_(size), launch_(launch) {
    CHECK_CUDA(cudaSetDevice(launch.device));
    CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, launch.device));
    now_ = DeviceBuffer<uint4>(layout_.count());
    next_ = DeviceBuffer<uint4>(layout_.count());
  }

  double advance(std::int64_t steps) override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    timer_.start();
    // As many passes as needed, and none much shorter than the others: ten steps of at most eight are five and five.
    for (std::int64_t passes = (steps + *launch_.steps_per_pass - 1) / *launch_.steps_per_pass; passes > 0; --passes) {
      const int now = static_cast<int>((steps + passes - 1) / passes);
      with_constant<1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16>(now, [&]<int k>() { launch_pass<k>(); });
      CHECK_CUDA(cudaGetLastError());
      now_.swap(next_);
      steps -= now;
    }
    return timer_.stop();
  }

  // Spins cross the bus as bytes, through the lattice that is not in use, as many rows at a time as it has room for.
  void set_spins(const majority::Lattice& lattice) override {
    const auto copy = [&](std::int64_t row, std::int64_t rows, majority::Spin* bytes) {
      CHECK_CUDA(cudaMemcpy(bytes, &lattice.spins[row * layout_.size], rows * layout_.size, cudaMemcpyHostToDevice));
      pack<<<transfer_blocks, threads>>>(bytes, now_.data(), layout_, static_cast<int>(row), static_cast<int>(rows));
      CHECK_CUDA(cudaGetLastError());
    };
    for_chunks(copy);
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  majority::Lattice spins() const override {
    majority::Lattice lattice{layout_.size, std::vector<majority::Spin>(std::size_t(layout_.size) * layout_.size)};
    for_chunks([&](std::int64_t row, std::int64_t rows, majority::Spin* bytes) {
      unpack<<<transfer_blocks, threads>>>(now_.data(), bytes, layout_, static_cast<int>(row), static_cast<int>(rows));
      CHECK_CUDA(cudaGetLastError());
      CHECK_CUDA(cudaMemcpy(&lattice.spins[row * layout_.size], bytes, rows * layout_.size, cudaMemcpyDeviceToHost));
    });
    return lattice;
  }

  majority::Launch launch() const override { return launch_; }

 private:
  static constexpr int transfer_blocks = 1024;

  template <int steps>
  void launch_pass() {
    const int rows = rows_a_warp(layout_, steps, multiprocessors_ * (threads / 32));
    const int warps = blocks_for(layout_.groups, strip_groups) * blocks_for(layout_.size, rows);
    update<steps><<<blocks_for(warps, threads / 32), threads>>>(now_.data(), next_.data(), layout_, rows);
  }

  /// Calls f(first row, rows, their bytes on the device) until all rows have had their turn.
  template <class F>
  void for_chunks(F f) const {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    const auto room = static_cast<std::int64_t>(next_.bytes()) / layout_.size;
    for (std::int64_t row = 0; row < layout_.size; row += room)
      f(row, std::min<std::int64_t>(room, layout_.size - row), reinterpret_cast<majority::Spin*>(next_.data()));
  }

  PackedLayout layout_;
  majority::Launch launch_;
  int multiprocessors_ = 0;
  DeviceBuffer<uint4> now_;
  mutable DeviceBuffer<uint4> next_;
  Timer timer_;
};

void refuse(const char* option, const std::optional<int>& value) {
  if (value)
    throw InvalidInput(std::string(option) + " is " + std::to_string(*value) +
                       ": this stage works in strips, not in squares; leave it out");
}

}  // namespace

std::unique_ptr<majority::Simulation> make_simulation(std::int64_t size, const majority::Launch& wish) {
  majority::Launch launch = wish;
  refuse("--thread-width", launch.thread_width);
  refuse("--block", launch.block);
  launch.storage = choose_storage(launch.storage, {majority::Storage::bit});
  launch.steps_per_pass = launch.steps_per_pass.value_or(default_steps);
  if (*launch.steps_per_pass < 1 || *launch.steps_per_pass > most_steps)
    throw InvalidInput("--steps-per-pass is " + std::to_string(*launch.steps_per_pass) + ": allowed are 1 to " +
                       std::to_string(most_steps));
  refuse_large_lattice(size, launch.device, [](int n) { return PackedLayout(n).count() * double{sizeof(uint4)}; });
  return std::make_unique<Packed>(static_cast<int>(size), launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
