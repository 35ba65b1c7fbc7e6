// Replica exchange in words: some samples of a word change places, the others do not.
//
// Two replicas of 32 samples are two words, and which samples exchange them is a third, the mask. Where their bits
// differ, d = (a ^ b) & mask, both flip: a ^ d, b ^ d. No sample waits for another, and none is moved.

#include "07_amsc/tempering/exchange.cuh"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace tempering;

// --- yours: which samples of a word exchange, warp by warp
/// A warp takes a pair of neighbours in a word, a lane its sample: its decision is the lane's bit of the mask.
__global__ void decide(amsc::Packing packing, Decisions decisions, std::uint32_t* masks) {
  const OfferedPairs pairs(decisions.temperatures, packing.replicas, decisions.e);
  const int lane = threadIdx.x % amsc::Packing::bits;
  const std::int64_t units = packing.words() * packing.units, warps = std::int64_t{gridDim.x} * (threads / 32);
  for (std::int64_t warp = std::int64_t{blockIdx.x} * (threads / 32) + threadIdx.x / 32; warp < units * pairs.all;
       warp += warps) {
    const std::int64_t unit = warp / pairs.all;
    const int colder = pairs.colder(static_cast<int>(warp % pairs.all)), t = colder % decisions.temperatures;
    bool accepted = false;
    if (lane < packing.samples_in(unit)) {
      const auto energy = [&](int replica) {
        const auto bonds = decisions.unsatisfied[(unit * packing.replicas + replica) * amsc::Packing::bits + lane];
        return 2 * static_cast<std::int64_t>(bonds) - 3 * decisions.sites;
      };
      const std::int64_t lattice = (packing.first_sample(unit) + lane) * packing.replicas + colder;
      const std::uint64_t draw = exchange_draw(decisions.origin, packing.replicas, lattice, decisions.e);
      accepted = decisions.table.accepts(t, energy(colder), energy(colder + 1), draw);
      if (accepted) decisions.note(lattice, t);
    }
    const std::uint32_t mask = __ballot_sync(~0u, accepted);
    if (lane == 0) masks[unit * packing.replicas + colder] = mask;
  }
}
// --- end

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

void decide_packed(const amsc::Packing& packing, const Decisions& decisions, std::uint32_t* masks) {
  constexpr std::int64_t most_blocks = 1 << 16;
  const std::int64_t pairs = packing.words() * packing.units * packing.replicas / 2;  // or fewer
  const auto blocks = std::clamp<std::int64_t>((pairs * 32 - 1) / threads + 1, 1, most_blocks);
  decide<<<static_cast<unsigned>(blocks), threads>>>(packing, decisions, masks);
  CHECK_CUDA(cudaGetLastError());
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
