/// 16 bytes at once.
///
/// The lesson's thread moves 4 bytes a load. Here an element of spins is 16 bytes: four replicas of 32 samples, two of
/// 64, or one of 128. The more samples share a stream, the fewer random numbers a flip needs. Counting and comparing
/// takes 14 operations (metropolis.hpp), and no thread divides. Whether the planes are those of a whole lattice
/// (wide.cu) or of a rank's slab (stage 08) is the layout's business.
#pragma once

#include "07_amsc/elements.hpp"
#include "07_amsc/multispin_simulation.cuh"
#include "gpu/constants.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// A thread takes a site of one colour and a word, in all replicas. A block lies in the plane `first` + blockIdx.y of
/// the words blockIdx.z, + gridDim.z, ... `known_replicas` is the number of replicas if the compiler may know it, or 0.
template <class Prng, Colour colour, int units, int known_replicas, class Layout>
__global__ void __launch_bounds__(512)  // fewer threads may have more registers
    update_wide(Layout layout, int first, Divisor row, std::int64_t words, int any_replicas, Words32 arrays,
                StreamTable draws, ReplicaThresholds thresholds) {
  using namespace spin_glass;
  constexpr int interleaved = filling<units>;
  using Element = Spins<units, interleaved>;
  const int replicas = known_replicas > 0 ? known_replicas : any_replicas, bundles = (replicas - 1) / interleaved + 1;
  const int size = layout.size, plane = size * size, elements = plane * layout.extent().z;
  const int in_plane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (in_plane >= plane) return;  // whole blocks cover a plane
  const int y = row.quotient(in_plane);
  const Place place{in_plane - y * size, y, first + static_cast<int>(blockIdx.y)};
  const int i = in_plane + plane * place.z;
  const Neighbours neighbours = layout.neighbours(colour, place);

  for (std::int64_t word = blockIdx.z; word < words; word += gridDim.z) {
    Bonds<units> bonds[directions];  // a blue site's bond is its neighbour's, in the opposite direction
    for (int d = 0; d < directions; ++d) {
      const auto* along = reinterpret_cast<const Bonds<units>*>(arrays.couplings[colour == red ? d : d ^ 1]);
      bonds[d] = fetch(along + word * elements + (colour == red ? i : neighbours.to[d]));
    }
    typename Prng::template Streams<1> stream(
        draws.states, position_of<1>(draws, layout, size, colour, place, word, word * elements + i));
    std::uint32_t all_draws[known_replicas > 0 ? known_replicas : 1];
    if constexpr (known_replicas > 0) draw(stream, all_draws);

#pragma unroll
    for (int bundle = 0; bundle < bundles; ++bundle) {
      const std::int64_t lattice = (word * bundles + bundle) * elements;
      const auto* others = reinterpret_cast<const Element*>(arrays.spins[other(colour)]) + lattice;
      auto* const own = reinterpret_cast<Element*>(arrays.spins[colour]) + lattice + i;
      Element around[directions];
      for (int d = 0; d < directions; ++d) around[d] = fetch(others + neighbours.to[d]);
      std::uint32_t draws_here[interleaved] = {};
      for (int r = 0; r < interleaved; ++r) {
        if constexpr (known_replicas > 0)
          draws_here[r] = all_draws[bundle * interleaved + r];
        else if (bundle * interleaved + r < replicas)  // the last element may hold replicas that do not exist
          draws_here[r] = stream.draw().of[0];
      }
      *own = updated(*own, around, bonds, draws_here, thresholds, bundle * interleaved);
    }
    stream.store();
  }
}

/// An engine whose spins lie as the kernel wants them, and the means to launch it.
template <class Prng, int units, class Layout = Sliced>
class WidePlanes : public MultispinSimulation<Prng, Layout> {
 public:
  using MultispinSimulation<Prng, Layout>::MultispinSimulation;

 protected:
  /// Updates planes first .. first + count - 1 of a colour.
  void update_planes(Colour colour, int first, int count, cudaStream_t stream) {
    if (count == 0) return;
    const Packing& packing = this->packing_;
    const dim3 grid(blocks_for(std::int64_t{this->size_} * this->size_, threads_), count,
                    grid_samples(packing.words()));
    with_constant<spin_glass::red, spin_glass::blue>(colour, [&]<int known_colour>() {
      with_constant<0, 4>(packing.replicas == 4 ? 4 : 0, [&]<int known_replicas>() {
        update_wide<Prng, Colour(known_colour), units, known_replicas>
            <<<grid, threads_, 0, stream>>>(this->layout_, first, Divisor(this->size_), packing.words(),
                                            packing.replicas, this->words(), this->draws(colour), this->thresholds_);
      });
    });
    CHECK_CUDA(cudaGetLastError());
  }

  int threads_ = *this->launch_.threads;  ///< of a block
};

}  // namespace psflip::PSFLIP_PLATFORM
