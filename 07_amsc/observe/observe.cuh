/// Counting bits, sample by sample.
///
/// All observables are sums over sites of one bit: a spin, a bond that is unsatisfied, two spins that differ. A word
/// has such a bit for each of 32 samples, and these must not be mixed up. So a thread adds words with full adders, as
/// the update does, into a counter whose digits are words; at the end a warp transposes the digits and counts their
/// ones.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "05_sliced/sliced.hpp"
#include "07_amsc/observe/observe.hpp"
#include "gpu/check.hpp"
#include "gpu/device_buffer.hpp"

namespace psflip::PSFLIP_PLATFORM::counting {

using namespace spin_glass;
using amsc::PackedArrays;
using amsc::Packing;

using Word = std::uint32_t;      // 32 samples
using Sum = unsigned long long;  // what atomicAdd takes

constexpr int lanes = 32;      // of a warp, and samples of a word
constexpr int most_warps = 8;  // of a block
constexpr int most_threads = most_warps * lanes;
constexpr std::size_t most_bytes_of_sums = std::size_t{4} << 20;

// ---- Counting

/// How many of the words added had a one, up to 2^digits - 1, for each bit of a word: bit b of digit[i] is worth 2^i.
template <int digits>
struct Counter {
  Word digit[digits] = {};

  /// Adds words worth 2^i. Two of them and the digit are three inputs of an adder, whose carry is worth 2^(i+1).
  template <int i = 0, int n>
  __device__ void add(const Word (&words)[n]) {
    if constexpr (i < digits) {
      Word carries[(n + 1) / 2];
#pragma unroll
      for (int k = 0; k + 1 < n; k += 2) {
        const Word sum = digit[i] ^ words[k];
        carries[k / 2] = (digit[i] & words[k]) | (words[k + 1] & sum);  // in this form nvcc needs one operation for it
        digit[i] = sum ^ words[k + 1];
      }
      if constexpr (n % 2 == 1) {
        carries[n / 2] = digit[i] & words[n - 1];
        digit[i] ^= words[n - 1];
      }
      add<i + 1>(carries);
    }
  }
};

/// Gives lane b the bits number b of the words of all 32 lanes, in an order that does not matter where they are
/// counted.
class Transposition {
 public:
  __device__ Transposition() {
    const unsigned lane = threadIdx.x % lanes;
#pragma unroll
    for (int i = 0; i < stages; ++i) {
      const unsigned s = lanes / 2 >> i, low = ~0u / ((1u << s) + 1);  // s ones, s zeros, and so on
      own_[i] = lane & s ? ~low : low;
    }
  }
  __device__ Word operator()(Word word) const {
#pragma unroll
    for (int i = 0; i < stages; ++i) {  // lanes that are s apart swap squares of s x s bits
      const int s = lanes / 2 >> i;
      const Word others = __shfl_xor_sync(~0u, word, s);
      word = (word & own_[i]) | (__funnelshift_l(others, others, s) & ~own_[i]);
    }
    return word;
  }

 private:
  static constexpr int stages = 5;
  Word own_[stages];  ///< the bits that the lane keeps
};

/// Adds what all lanes of a warp have counted: bit b's to sums[b]. No lane has counted more than `words`.
template <int digits>
__device__ void add_up(const Counter<digits>& counter, int words, Sum* sums) {
  const Transposition transposed;
  int total = 0;  // of bit number `lane`
#pragma unroll
  for (int i = 0; i < digits; ++i)
    if (words >> i > 0) total += __popc(transposed(counter.digit[i])) << i;
  atomicAdd(sums + threadIdx.x % lanes, static_cast<Sum>(total));
}

// ---- What is counted

/// The sums of a unit: unsatisfied bonds [replica], spins that are up [replica], differing spins [pair], and products
/// q(x) q(x + r) = -1, in all three axes, [pair][r - 1], r = 1 .. L/2. With a ladder, also bonds q(x) q(x') = -1
/// [pair], and differing spins of every plane [pair][axis][L]. 32 numbers each, one a sample.
template <class Layout>
struct Measurement {
  Packing packing;
  PackedArrays arrays;
  Layout layout;
  int elements;  ///< of a colour that the layout owns
  int pairs, distances;
  std::int64_t first_unit;
  Sum* sums;

  PSFLIP_HOST_DEVICE std::int64_t sums_of_unit() const {
    return 2 * packing.replicas + std::int64_t{pairs} * (1 + distances + (fields() ? 1 + 3 * layout.size : 0));
  }
  /// Whether bonds and planes of the overlap are counted.
  PSFLIP_HOST_DEVICE bool fields() const { return packing.temperatures > 1; }
  PSFLIP_HOST_DEVICE std::int64_t sum(std::int64_t unit, std::int64_t number) const {
    return ((unit - first_unit) * sums_of_unit() + number) * lanes;
  }
  PSFLIP_HOST_DEVICE std::int64_t unsatisfied(int replica) const { return replica; }
  PSFLIP_HOST_DEVICE std::int64_t up(int replica) const { return packing.replicas + replica; }
  PSFLIP_HOST_DEVICE std::int64_t different(int pair) const { return 2 * packing.replicas + pair; }
  PSFLIP_HOST_DEVICE std::int64_t product(int pair, int r) const {
    return 2 * packing.replicas + pairs + std::int64_t{pair} * distances + r - 1;
  }
  PSFLIP_HOST_DEVICE std::int64_t link(int pair) const { return product(pairs, 1) + pair; }
  PSFLIP_HOST_DEVICE std::int64_t plane(int pair, int number) const {
    return link(pairs) + std::int64_t{pair} * 3 * layout.size + number;
  }
};

/// The spins of one replica in a unit of samples.
struct Lattice {
  template <class Layout>
  __device__ Lattice(const Measurement<Layout>& measurement, std::int64_t unit, int replica)
      : spins{measurement.arrays.spins[red] + measurement.packing.spin(unit, replica, 0),
              measurement.arrays.spins[blue] + measurement.packing.spin(unit, replica, 0)},
        stride(measurement.packing.interleaved * measurement.packing.units) {}
  __device__ Word operator()(int colour, int i) const {
    return __ldg((colour == red ? spins[red] : spins[blue]) + std::int64_t{stride} * i);
  }

  const Word* spins[2];
  int stride;
};

struct Pair {
  int a, b;
};
/// The replicas of an overlap, by their copies and temperature.
__device__ inline Pair replicas_of_pair(int overlap, const Packing& packing) {
  const int n = packing.temperatures, copies = packing.replicas / n, t = overlap % n;
  int a = 0, pair = overlap / n;
  for (; pair >= copies - 1 - a; ++a) pair -= copies - 1 - a;
  return {a * n + t, (a + 1 + pair) * n + t};
}

// ---- Spins, overlaps and bonds

constexpr int steps = 32;  // elements that a thread takes

/// A block takes `steps` * 32 elements of a unit, and its warps one sum each, until all are done: all but the first to
/// ask for a spin find it in the cache.
template <class Layout>
__global__ void __launch_bounds__(most_threads, 4) count_spins_and_bonds(Measurement<Layout> measurement, int parts) {
  const Packing& packing = measurement.packing;
  const std::int64_t unit = measurement.first_unit + blockIdx.x / parts;
  if (packing.samples_in(unit) == 0) return;
  const int elements = measurement.elements, replicas = packing.replicas;
  const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes, warps = blockDim.x / lanes;
  const std::int64_t first = std::int64_t{blockIdx.x % parts} * steps * lanes;
  const int own_steps = static_cast<int>(min(std::int64_t{steps}, (elements - 1 - first) / lanes + 1));

  /// `word` has a bit of each of its samples for an element and a colour.
  const auto count_elements = [&](std::int64_t sum, auto word) {
    constexpr int at_once = 4;
    Counter<7> counter;
    for (int step = 0; step < own_steps; step += at_once) {
      Word words[2 * at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::int64_t i = first + (step + k) * lanes + lane;
        for (const Colour colour : {red, blue})
          words[2 * k + colour] =
              i < elements ? word(colour, first_owned(measurement.layout, colour) + static_cast<int>(i)) : 0;
      }
      counter.add(words);
    }
    add_up(counter, 2 * own_steps, measurement.sums + measurement.sum(unit, sum));
  };
  /// Red sites and their bonds: `spin` as above, `coupling` of a direction and an element.
  const auto count_bonds = [&](std::int64_t sum, auto spins, auto coupling) {
    Counter<8> counter;
    for (int step = 0; step < own_steps; ++step) {
      const std::int64_t i = first + step * lanes + lane;
      if (i >= elements) break;
      const int element = first_owned(measurement.layout, red) + static_cast<int>(i);
      const Neighbours neighbours = measurement.layout.neighbours(red, measurement.layout.place(element));
      const Word spin = spins(red, element);
      Word unsatisfied[directions];
      for (int d = 0; d < directions; ++d) unsatisfied[d] = spin ^ spins(blue, neighbours.to[d]) ^ coupling(d, element);
      counter.add(unsatisfied);
    }
    add_up(counter, directions * own_steps, measurement.sums + measurement.sum(unit, sum));
  };

  for (int number = warp; number < 2 * replicas + measurement.pairs; number += warps) {
    if (number < replicas) {
      if (measurement.arrays.couplings[0] != nullptr)
        count_bonds(measurement.unsatisfied(number), Lattice(measurement, unit, number), [&](int d, int element) {
          return __ldg(measurement.arrays.couplings[d] + packing.coupling(unit, element));
        });
    } else if (number < 2 * replicas) {
      const int replica = number - replicas;
      count_elements(measurement.up(replica), Lattice(measurement, unit, replica));
    } else {
      const int pair = number - 2 * replicas;
      const Pair of = replicas_of_pair(pair, packing);
      const Lattice a(measurement, unit, of.a), b(measurement, unit, of.b);
      const auto q = [&](int colour, int i) { return a(colour, i) ^ b(colour, i); };
      count_elements(measurement.different(pair), q);
      if (measurement.fields()) count_bonds(measurement.link(pair), q, [](int, int) { return Word{0}; });
    }
  }
}

template <class Layout>
void start_count_spins_and_bonds(const Measurement<Layout>& measurement, std::int64_t units) {
  const int parts = static_cast<int>((measurement.elements - 1) / (steps * lanes) + 1);
  count_spins_and_bonds<<<static_cast<unsigned>(units * parts), most_threads>>>(measurement, parts);
  CHECK_CUDA(cudaGetLastError());
}

/// The planes z' that a layout owns: the number of the first of a colour in the whole lattice, and how many there are.
__device__ inline int first_plane_owned(const Sliced&) { return 0; }
__device__ inline int planes_owned(const Sliced& layout) { return layout.size / 2; }

/// A block takes a unit and a pair, and its warps the planes x, y and z = const. of the lattice, one each. In the
/// sliced layout x = x', y = x' + y', z = y' + z'.
template <class Layout>
__global__ void __launch_bounds__(most_threads) count_planes(Measurement<Layout> measurement) {
  const Packing& packing = measurement.packing;
  const Layout& layout = measurement.layout;
  const std::int64_t unit = measurement.first_unit + blockIdx.x / measurement.pairs;
  if (packing.samples_in(unit) == 0) return;
  const int pair = static_cast<int>(blockIdx.x % measurement.pairs);
  const Pair of = replicas_of_pair(pair, packing);
  const Lattice a(measurement, unit, of.a), b(measurement, unit, of.b);
  const int size = layout.size, first = first_plane_owned(layout), planes = planes_owned(layout);
  const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes, warps = blockDim.x / lanes;
  const auto q = [&](Colour colour, int x, int y, int plane) {
    const int i = first_owned(layout, colour) + layout.element(x, y, plane);
    return a(colour, i) ^ b(colour, i);
  };
  for (int number = warp; number < 3 * size; number += warps) {
    const int axis = number / size, at = number - axis * size;
    const int all = size * (axis < 2 ? planes : size);
    Counter<17> counter;  // at most L^2 / 32 words in a lane
    for (int i = lane; i < all; i += lanes) {
      const int outer = i / size, inner = i - outer * size;
      const int rest = at - (axis == 1 ? inner : outer), wrapped = rest < 0 ? rest + size : rest;
      if (axis < 2) {
        const int x = axis == 0 ? at : inner, y = axis == 0 ? inner : wrapped;
        const Word words[2] = {q(red, x, y, outer), q(blue, x, y, outer)};
        counter.add(words);
      } else if (const int plane = wrapped / 2 - first; plane >= 0 && plane < planes) {
        const Word words[1] = {q(wrapped % 2 == 0 ? red : blue, inner, outer, plane)};
        counter.add(words);
      }
    }
    add_up(counter, 2 * ((all - 1) / lanes + 1),
           measurement.sums + measurement.sum(unit, measurement.plane(pair, number)));
  }
}

/// A sample from the sums of its unit, those of its own bit: number i is sums[i * 32].
template <class Layout>
SampleObservables observables(const Measurement<Layout>& measurement, const Sum* sums) {
  const std::int64_t size = measurement.layout.size, sites = 2 * std::int64_t{measurement.elements};
  const auto count = [sums](std::int64_t number) { return static_cast<std::int64_t>(sums[number * lanes]); };
  SampleObservables result;
  if (measurement.distances > 0) result.correlations.reserve(measurement.pairs * spin_glass::distances(size));
  for (int replica = 0; replica < measurement.packing.replicas; ++replica) {
    result.energies.push_back(2 * count(measurement.unsatisfied(replica)) - 3 * sites);
    result.magnetisations.push_back(2 * count(measurement.up(replica)) - sites);
  }
  for (int pair = 0; pair < measurement.pairs; ++pair) {
    result.overlaps.push_back(sites - 2 * count(measurement.different(pair)));
    if (measurement.distances == 0) continue;
    result.correlations.push_back(3 * sites);
    for (int r = 1; r <= measurement.distances; ++r)
      result.correlations.push_back(3 * sites - 2 * count(measurement.product(pair, r)));
  }
  for (int pair = 0; measurement.fields() && pair < measurement.pairs; ++pair) {
    result.links.push_back(3 * sites - 2 * count(measurement.link(pair)));
    for (int number = 0; number < 3 * size; ++number) result.planes.push_back(count(measurement.plane(pair, number)));
  }
  return result;
}

/// amsc::ObservePacked, for the sites that a layout owns: sums over them. start_products(measurement, units) starts
/// what counts the products, if there are any to count; false if it cannot.
template <class Layout, class StartProducts>
std::optional<std::vector<SampleObservables>> observe_owned(const Packing& packing, const PackedArrays& arrays,
                                                            const Layout& layout, int elements, bool correlations,
                                                            StartProducts start_products) {
  const int all_pairs = static_cast<int>(overlaps(packing.replicas, packing.temperatures));
  Measurement<Layout> measurement{packing, arrays, layout, elements, all_pairs, correlations ? layout.size / 2 : 0,
                                  0,       nullptr};
  const std::size_t of_unit = measurement.sums_of_unit() * lanes;
  const std::int64_t units = packing.words() * packing.units;
  const auto at_once = std::clamp<std::int64_t>(most_bytes_of_sums / (of_unit * sizeof(Sum)), 1, units);
  DeviceBuffer<Sum> sums(of_unit * at_once);
  std::vector<Sum> on_host(sums.size());
  measurement.sums = sums.data();

  std::vector<SampleObservables> result(packing.samples);
  for (measurement.first_unit = 0; measurement.first_unit < units; measurement.first_unit += at_once) {
    const std::int64_t now = std::min(at_once, units - measurement.first_unit);
    CHECK_CUDA(cudaMemset(sums.data(), 0, sums.bytes()));
    start_count_spins_and_bonds(measurement, now);
    if (measurement.fields() && all_pairs > 0) {
      count_planes<<<static_cast<unsigned>(now * all_pairs), most_threads>>>(measurement);
      CHECK_CUDA(cudaGetLastError());
    }
    if (correlations && all_pairs > 0 && !start_products(measurement, now)) return std::nullopt;
    sums.copy_to_host(on_host.data());
    for (std::int64_t unit = measurement.first_unit; unit < measurement.first_unit + now; ++unit)
      for (int bit = 0; bit < packing.samples_in(unit); ++bit)
        result[packing.first_sample(unit) + bit] = observables(measurement, &on_host[measurement.sum(unit, 0) + bit]);
  }
  return result;
}

}  // namespace psflip::PSFLIP_PLATFORM::counting
