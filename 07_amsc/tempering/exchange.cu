// Replica exchange in words: some samples of a word change places, the others do not.
//
// Two replicas of 32 samples are two words, and which samples exchange them is a third, the mask. Where their bits
// differ, d = (a ^ b) & mask, both flip: a ^ d, b ^ d. No sample waits for another, and none is moved.

#include "07_amsc/tempering/exchange.cuh"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace tempering;

struct Colours {
  std::uint32_t* of[2];
};

constexpr int ahead = 4;  // bundles that are fetched at once

/// A thread takes an element of a word in all its replicas, one bundle after the other: a replica's partner is in the
/// same bundle or in the next.
template <int units, int interleaved>
__global__ void __launch_bounds__(threads)
    swap_under_masks(amsc::Packing packing, Colours spins, const std::uint32_t* masks) {
  using Element = Spins<units, interleaved>;
  constexpr int words_of_element = units * interleaved;
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= packing.half) return;
  const int bundles = packing.bundles(), replicas = packing.replicas;
  for (std::int64_t word = blockIdx.y; word < packing.words(); word += gridDim.y) {
    Element* const own = reinterpret_cast<Element*>(blockIdx.z == 0 ? spins.of[red] : spins.of[blue]) +
                         word * bundles * packing.half + i;
    Element now = own[0];
    for (int first = 0; first < bundles; first += ahead) {
      Element next[ahead] = {};
#pragma unroll
      for (int a = 0; a < ahead; ++a)
        if (first + a + 1 < bundles) next[a] = own[(first + a + 1) * packing.half];
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
        if (first + a >= bundles) break;
#pragma unroll
        for (int n = 0; n < words_of_element; ++n) {
          const int replica = (first + a) * interleaved + n / units;
          const std::uint32_t mask =
              replica < replicas ? __ldg(masks + (word * units + n % units) * replicas + replica) : 0;
          std::uint32_t& partner = n + units < words_of_element ? now.of[(n + units) % words_of_element]
                                                                : next[a].of[(n + units) % words_of_element];
          const std::uint32_t differing = (now.of[n] ^ partner) & mask;
          now.of[n] ^= differing;
          partner ^= differing;
        }
        own[(first + a) * packing.half] = now;
        now = next[a];
      }
    }
  }
}

}  // namespace

void count_unsatisfied_packed(const amsc::Packing& packing, const amsc::PackedArrays& arrays,
                              const spin_glass::Sliced& layout, Sum* unsatisfied) {
  count_owned(packing, arrays, layout, static_cast<int>(packing.half), unsatisfied);
}

void swap_packed(const amsc::Packing& packing, std::uint32_t* const (&spins)[2], const std::uint32_t* masks) {
  const dim3 grid(static_cast<unsigned>((packing.half - 1) / threads + 1),
                  static_cast<unsigned>(std::min<std::int64_t>(packing.words(), 65535)), 2);
  with_elements(packing, [&]<int units, int interleaved>() {
    swap_under_masks<units, interleaved><<<grid, threads>>>(packing, Colours{{spins[red], spins[blue]}}, masks);
  });
  CHECK_CUDA(cudaGetLastError());
}

}  // namespace psflip::PSFLIP_PLATFORM
