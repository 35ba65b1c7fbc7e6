/// Observables of systems of which a word is 32 sites: what is one bit each is counted by popcounts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "07_amsc/synchronous/words.hpp"
#include "gpu/device_buffer.hpp"
#include "spin_glass/engine/lattices.cuh"
#include "spin_glass/model/observables.hpp"

namespace psflip::PSFLIP_PLATFORM {

using Sum = unsigned long long;

/// What is counted on, in the memory of a device.
struct CountedSystems {
  amsc::Systems systems;
  const std::uint32_t* spins[2];  ///< of each colour
  const std::uint32_t* bonds;     ///< of the red sites

  __device__ std::uint32_t spin(Colour colour, std::int64_t sample, int replica, int i) const {
    return spins[colour][systems.spins(sample, replica, i)];
  }
  /// To every site of the red or blue word at a place that of a neighbour, r steps along an axis: x, y or z. The spins
  /// are those of a colour that has the same parity, or the other one, as r says.
  template <class Word>
  __device__ std::uint32_t along(int axis, int r, Colour colour, spin_glass::Place p, Word word) const {
    const amsc::SiteWords& words = systems.words;
    const int size = words.layout.size, row = words.layout.row;
    const auto modulo = [](int v, int n) { return v < 0 ? v + n : v < n ? v : v - n; };
    // A step along x changes (x', y', z') by (1, -1, 1), along y by (0, 1, -1), along z by (0, 0, 1).
    const int x = p.x + (axis == 0 ? r : 0), turn = x / row;  // so many bits further
    const int y = modulo(p.y + (axis == 0 ? -r : axis == 1 ? r : 0), size);
    const int z = modulo(2 * p.z + colour + (axis == 1 ? -r : r), size);
    const std::uint32_t there = word(Colour(z % 2), words.layout.element(x % row, y, z / 2));
    const int shift = turn % words.bits;
    return shift == 0 ? there : (there >> shift | there << (words.bits - shift)) & words.all();
  }
};

/// Adds up what the threads of a block have, into *sum.
inline __device__ void add_up_block(Sum mine, Sum* sum) {
  for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_down_sync(~0u, mine, lanes);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

/// The sums of a sample, blockIdx.y from `first` on: of unsatisfied bonds and of spins that are up, [replica], and of
/// sites where the replicas of a pair differ.
__global__ void count_words(CountedSystems counted, std::int64_t first, int pairs, Sum* sums) {
  const amsc::Systems& systems = counted.systems;
  const std::int64_t sample = first + blockIdx.y;
  const int words = systems.words.count(), replicas = systems.replicas;
  Sum* const of_sample = sums + std::int64_t{blockIdx.y} * (2 * replicas + pairs);
  const auto total = [&](auto count, Sum* sum) {
    Sum mine = 0;
    for_each_element(words, [&](std::int64_t i) { mine += count(static_cast<int>(i)); });
    add_up_block(mine, sum);
  };
  for (int a = 0, pair = 0; a < replicas; ++a) {
    total(
        [&](int i) {
          const spin_glass::Place place = systems.words.layout.place(i);
          const auto blue = [&](Colour, int j) { return counted.spin(spin_glass::blue, sample, a, j); };
          const std::uint32_t spin = counted.spin(spin_glass::red, sample, a, i);
          int unsatisfied = 0;
          for (int d = 0; d < spin_glass::directions; ++d) {
            const int r = d % 2 == 0 ? 1 : systems.words.layout.size - 1;  // a step back is all but one
            unsatisfied += __popc(spin ^ counted.bonds[systems.bonds(sample, i) + d * amsc::Systems::step] ^
                                  counted.along(d / 2, r, spin_glass::red, place, blue));
          }
          return unsatisfied;
        },
        of_sample + a);
    for (int b = a; b < replicas; ++b) {  // with itself: what is up
      total(
          [&](int i) {
            int count = 0;
            for (const Colour colour : {spin_glass::red, spin_glass::blue})
              count += __popc(counted.spin(colour, sample, a, i) ^ (b > a ? counted.spin(colour, sample, b, i) : 0));
            return count;
          },
          of_sample + (b == a ? replicas + a : 2 * replicas + pair));
      pair += b > a;
    }
  }
}

/// Of the pairs blockIdx.z, + gridDim.z, ... of the sample blockIdx.y from `first` on: sites where q(x) and q(x + r e)
/// differ, for all three axes together, r = 1 .. L/2.
__global__ void count_products_of_words(CountedSystems counted, std::int64_t first, int pairs, Sum* sums) {
  const amsc::Systems& systems = counted.systems;
  const int size = systems.words.layout.size, words = systems.words.count();
  const std::int64_t sample = first + blockIdx.y;
  for (int pair = static_cast<int>(blockIdx.z); pair < pairs; pair += static_cast<int>(gridDim.z)) {
    int a = 0, b = pair + 1;
    for (; b >= systems.replicas; b += a + 1 - systems.replicas) ++a;  // pair_index() the other way round
    const auto q = [&](Colour colour, int i) {
      return counted.spin(colour, sample, a, i) ^ counted.spin(colour, sample, b, i);
    };
    Sum* const of_pair = sums + (std::int64_t{blockIdx.y} * pairs + pair) * (size / 2);
    for (int r = 1; r <= size / 2; ++r) {
      Sum mine = 0;
      for_each_element(words, [&](std::int64_t number) {
        const int i = static_cast<int>(number);
        const spin_glass::Place place = systems.words.layout.place(i);
        for (const Colour colour : {spin_glass::red, spin_glass::blue})
          for (int axis = 0; axis < 3; ++axis) mine += __popc(q(colour, i) ^ counted.along(axis, r, colour, place, q));
      });
      add_up_block(mine, of_pair + r - 1);
    }
  }
}

/// What spin_glass::observe() computes for each sample.
inline std::vector<spin_glass::SampleObservables> count_systems(const CountedSystems& counted, bool correlations) {
  const amsc::Systems& systems = counted.systems;
  const std::int64_t size = systems.words.layout.size, sites = size * size * size, replicas = systems.replicas;
  const std::int64_t pairs = spin_glass::pairs(replicas), of_sample = 2 * replicas + pairs;
  const std::int64_t at_once = std::min<std::int64_t>(systems.samples, 1 << 12);
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(systems.words.count() / setup_threads, 1, 512));
  DeviceBuffer<Sum> sums(static_cast<std::size_t>(at_once * of_sample));
  DeviceBuffer<Sum> products(static_cast<std::size_t>(correlations ? at_once * pairs * (size / 2) : 0));
  std::vector<Sum> on_host(sums.size()), products_on_host(products.size());
  std::vector<spin_glass::SampleObservables> all;
  const auto whole = [](Sum sum) { return static_cast<std::int64_t>(sum); };
  for (std::int64_t first = 0; first < systems.samples; first += at_once) {
    const auto count = static_cast<unsigned>(std::min(at_once, systems.samples - first));
    CHECK_CUDA(cudaMemset(sums.data(), 0, sums.bytes()));
    count_words<<<dim3(blocks, count), setup_threads>>>(counted, first, static_cast<int>(pairs), sums.data());
    CHECK_CUDA(cudaGetLastError());
    sums.copy_to_host(on_host.data());
    if (products.size() > 0) {
      CHECK_CUDA(cudaMemset(products.data(), 0, products.bytes()));
      const auto pairs_at_once = static_cast<unsigned>(std::min<std::int64_t>(pairs, 65535));
      count_products_of_words<<<dim3(blocks, count, pairs_at_once), setup_threads>>>(
          counted, first, static_cast<int>(pairs), products.data());
      CHECK_CUDA(cudaGetLastError());
      products.copy_to_host(products_on_host.data());
    }
    for (std::int64_t sample = 0; sample < count; ++sample) {
      spin_glass::SampleObservables& of = all.emplace_back();
      const Sum* sum = &on_host[static_cast<std::size_t>(sample * of_sample)];
      for (std::int64_t replica = 0; replica < replicas; ++replica) {
        of.energies.push_back(2 * whole(sum[replica]) - 3 * sites);
        of.magnetisations.push_back(2 * whole(sum[replicas + replica]) - sites);
      }
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        of.overlaps.push_back(sites - 2 * whole(sum[2 * replicas + pair]));
        if (!correlations) continue;
        of.correlations.push_back(3 * sites);
        for (std::int64_t r = 0; r < size / 2; ++r)
          of.correlations.push_back(
              3 * sites -
              2 * whole(products_on_host[static_cast<std::size_t>((sample * pairs + pair) * (size / 2) + r)]));
      }
    }
  }
  return all;
}

}  // namespace psflip::PSFLIP_PLATFORM
