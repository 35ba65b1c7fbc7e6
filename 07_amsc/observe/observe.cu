// Observables of a whole lattice. Spins, overlaps and bonds are counted by observe.cuh, the overlaps' correlations
// here.
#include "07_amsc/observe/observe.cuh"

#include <algorithm>

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace counting;
using namespace spin_glass;

constexpr int tile = 4;                            // distances that a thread takes
constexpr int most_at_once = 16;                   // sites of a line that it takes at once
constexpr int repeated = most_at_once + tile - 2;  // what it may read beyond the end of a line
constexpr int planes = 11;                         // digits of its counters
static_assert(largest_size < 1 << planes, "a counter has room for a line");

/// The sites of a line along an axis. In the sliced layout each line of the lattice meets every plane z' once: k steps
/// from the plane z' = 0, upwards, it is at (x' + k, y' - k) along +x, (x', y' - k) along -y, and (x', y') along +z.
struct Line {
  __device__ Line(std::int64_t number, int size) {
    const std::int64_t area = std::int64_t{size} * size;
    const int start = static_cast<int>(number % area);
    axis = static_cast<int>(number / area);
    y = start / size;
    x = start - y * size;
  }
  __device__ int element(const Sliced& layout, int k) const {
    const int right = axis == 0 ? x + k : x, behind = axis == 2 ? y : y - k;
    return layout.element(right < layout.size ? right : right - layout.size,
                          behind >= 0 ? behind : behind + layout.size, k / 2);
  }
  int axis, x, y;
};

/// Counts q(x) q(x + r) = -1 for `sites` sites x and `tile` distances; `here` and `there` are x and x + the least r.
template <int sites>
__device__ void count(Counter<planes> (&counters)[tile], const Word* here, const Word* there) {
  Word q[sites], far[sites + tile - 1];
#pragma unroll
  for (int k = 0; k < sites; ++k) q[k] = here[k * lanes];
#pragma unroll
  for (int k = 0; k < sites + tile - 1; ++k) far[k] = there[k * lanes];
#pragma unroll
  for (int t = 0; t < tile; ++t) {
    Word negative[sites];
#pragma unroll
    for (int k = 0; k < sites; ++k) negative[k] = q[k] ^ far[k + t];
    counters[t].add(negative);
  }
}

/// A block takes one pair, so many groups of 32 lines, and `tile` distances a warp: the warps fetch the lines of a
/// group together, a lane the sites of its line, and each then looks at all of them.
__global__ void __launch_bounds__(most_threads, 2)
    count_products(Measurement<Sliced> measurement, int parts, int groups, int rounds) {
  extern __shared__ Word lines[];  // [site of the line][lane], 1 = q is negative; the first ones again after the last
  const Packing& packing = measurement.packing;
  const int size = measurement.layout.size;
  const unsigned task = blockIdx.x / parts;
  const int pair = static_cast<int>(task / rounds % measurement.pairs);
  const std::int64_t unit = measurement.first_unit + task / rounds / measurement.pairs;
  if (packing.samples_in(unit) == 0) return;
  const Pair of = replicas_of_pair(pair, packing);
  const Lattice a(measurement, unit, of.a), b(measurement, unit, of.b);

  const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes, warps = blockDim.x / lanes;
  const int least = 1 + tile * (static_cast<int>(task % rounds) * warps + warp);
  const std::int64_t all = 3 * std::int64_t{size} * size;
  const std::int64_t first = std::int64_t{blockIdx.x % parts} * groups * lanes;
  Counter<planes> counters[tile];
  for (int group = 0; group < groups && first + group * lanes < all; ++group) {
    const std::int64_t own = first + group * lanes + lane;
    const Line line(min(own, all - 1), size);
    for (int k = warp; k < size; k += warps) {
      const int i = line.element(measurement.layout, k);
      const Word q = own < all ? a(k % 2, i) ^ b(k % 2, i) : 0;
      lines[k * lanes + lane] = q;
      if (k < repeated) lines[(k + size) * lanes + lane] = q;
    }
    __syncthreads();
    if (least <= measurement.distances) {
      const auto count_from = [&]<int sites>(int& k) {
        const int there = k + least;
        count<sites>(counters, lines + k * lanes + lane, lines + (there < size ? there : there - size) * lanes + lane);
        k += sites;
      };
      int k = 0;
      while (k + most_at_once <= size) count_from.operator()<most_at_once>(k);
      if (k + most_at_once / 2 <= size) count_from.operator()<most_at_once / 2>(k);
      while (k < size) count_from.operator()<2>(k);
    }
    __syncthreads();
  }
#pragma unroll
  for (int t = 0; t < tile; ++t)
    if (least + t <= measurement.distances)
      add_up(counters[t], groups * size,
             measurement.sums + measurement.sum(unit, measurement.product(pair, least + t)));
}

/// Starts count_products for so many units. False if the lines do not fit into the shared memory of a block.
bool start_count_products(const Measurement<Sliced>& measurement, std::int64_t units) {
  constexpr std::int64_t blocks_per_multiprocessor = 8;  // two at a time, more than once
  const int size = measurement.layout.size, bytes = (size + repeated) * lanes * static_cast<int>(sizeof(Word));
  int device = 0, most_bytes = 0, multiprocessors = 0;
  CHECK_CUDA(cudaGetDevice(&device));
  CHECK_CUDA(cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (bytes > most_bytes) return false;
  CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CHECK_CUDA(cudaFuncSetAttribute(count_products, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));

  // As many rounds of warps as the distances need, and as few warps as can do them.
  const int tiles = (measurement.distances - 1) / tile + 1, rounds = (tiles - 1) / most_warps + 1;
  const int warps = (tiles - 1) / rounds + 1;
  // Adding up costs as much as counting some 80 words: a block takes many lines, if enough blocks are left.
  const std::int64_t all_groups = (3 * std::int64_t{size} * size - 1) / lanes + 1,
                     tasks = units * measurement.pairs * rounds;
  const std::int64_t wished_groups = all_groups * tasks / (blocks_per_multiprocessor * multiprocessors);
  const std::int64_t most_groups = std::min<std::int64_t>(((1 << planes) - 1) / size, all_groups);
  const int groups = static_cast<int>(std::clamp<std::int64_t>(wished_groups, 1, most_groups));
  const int parts = static_cast<int>((all_groups - 1) / groups + 1);
  count_products<<<static_cast<unsigned>(tasks * parts), warps * lanes, bytes>>>(measurement, parts, groups, rounds);
  CHECK_CUDA(cudaGetLastError());
  return true;
}

}  // namespace

std::optional<std::vector<SampleObservables>> observe_packed(const Packing& packing, const PackedArrays& arrays,
                                                             int size, bool correlations) {
  return observe_owned(packing, arrays, Sliced{size, size}, static_cast<int>(packing.half), correlations,
                       start_count_products);
}

}  // namespace psflip::PSFLIP_PLATFORM
