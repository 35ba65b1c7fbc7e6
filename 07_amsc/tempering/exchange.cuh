/// Energies of all samples and replicas at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "07_amsc/observe/observe.cuh"
#include "07_amsc/spins.hpp"
#include "07_amsc/tempering/exchange.hpp"
#include "gpu/constants.hpp"

namespace psflip::PSFLIP_PLATFORM::tempering {

using namespace spin_glass;
using counting::Counter;
using counting::lanes;
using counting::Sum;

constexpr int threads = 128, steps = 32;  // of a block; red sites that a thread takes
constexpr int digits = 8;                 // of its counters
static_assert(directions * steps < 1 << digits);

/// A block takes `steps` * `threads` red sites, of the `elements` that a layout owns, in one element's replicas.
template <int units, int interleaved, class Layout>
__global__ void __launch_bounds__(threads)
    count_unsatisfied(amsc::Packing packing, amsc::PackedArrays arrays, Layout layout, int elements, Sum* unsatisfied) {
  using Element = Spins<units, interleaved>;
  const std::int64_t rows = packing.words() * packing.bundles(), first = std::int64_t{blockIdx.x} * steps * threads;
  const int own_steps = static_cast<int>(min(std::int64_t{steps}, (elements - 1 - first) / threads + 1));
  for (std::int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    const std::int64_t word = row / packing.bundles();
    const int bundle = static_cast<int>(row - word * packing.bundles());
    const auto* const reds = reinterpret_cast<const Element*>(arrays.spins[red]) + row * packing.half;
    const auto* const blues = reinterpret_cast<const Element*>(arrays.spins[blue]) + row * packing.half;
    Counter<digits> counters[units * interleaved];
    for (int step = 0; step < own_steps; ++step) {
      const std::int64_t owned = first + std::int64_t{step} * threads + threadIdx.x;
      if (owned >= elements) break;
      const int i = first_owned(layout, red) + static_cast<int>(owned);
      const Neighbours neighbours = layout.neighbours(red, layout.place(i));
      const Element spin = fetch(reds + i);
      Element around[directions];
      Bonds<units> bonds[directions];
      for (int d = 0; d < directions; ++d) {
        around[d] = fetch(blues + neighbours.to[d]);
        bonds[d] = fetch(reinterpret_cast<const Bonds<units>*>(arrays.couplings[d]) + word * packing.half + i);
      }
#pragma unroll
      for (int n = 0; n < units * interleaved; ++n) {
        std::uint32_t terms[directions];
#pragma unroll
        for (int d = 0; d < directions; ++d) terms[d] = spin.of[n] ^ around[d].of[n] ^ bonds[d].of[n % units];
        counters[n].add(terms);
      }
    }
#pragma unroll
    for (int n = 0; n < units * interleaved; ++n) {
      const int replica = bundle * interleaved + n / units;
      if (replica < packing.replicas)
        counting::add_up(counters[n], directions * own_steps,
                         unsatisfied + ((word * units + n % units) * packing.replicas + replica) * lanes);
    }
  }
}

/// Calls f.template operator()<units, interleaved>() for the elements of a packing.
template <class F>
void with_elements(const amsc::Packing& packing, F f) {
  with_constant<1, 2, 4>(packing.units, [&]<int units>() {
    with_constant<1, 2, 4>(packing.interleaved, [&]<int interleaved>() {
      if constexpr (units * interleaved <= 4) f.template operator()<units, interleaved>();
    });
  });
}

/// count_unsatisfied_packed() for the `elements` red sites that a layout owns.
template <class Layout>
void count_owned(const amsc::Packing& packing, const amsc::PackedArrays& arrays, const Layout& layout, int elements,
                 Sum* unsatisfied) {
  const dim3 grid(static_cast<unsigned>((elements - 1) / (steps * threads) + 1),
                  static_cast<unsigned>(std::min<std::int64_t>(packing.words() * packing.bundles(), 65535)));
  with_elements(packing, [&]<int units, int interleaved>() {
    count_unsatisfied<units, interleaved><<<grid, threads>>>(packing, arrays, layout, elements, unsatisfied);
  });
  CHECK_CUDA(cudaGetLastError());
}

}  // namespace psflip::PSFLIP_PLATFORM::tempering
