// 16 bytes at once.
//
// The lesson's thread moves 4 bytes a load. Here an element of spins is 16 bytes: four replicas of 32 samples, two of
// 64, or one of 128. The more samples share a stream, the fewer random numbers a flip needs. Counting and comparing
// takes 16 operations (metropolis.hpp), and no thread divides.

#include "07_amsc/elements.hpp"
#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/multispin_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

constexpr int most_threads = 512;  // of a block: fewer threads may have more registers

/// A thread takes a site of one colour and a word, in all replicas. A block lies in the plane blockIdx.y of the words
/// blockIdx.z, + gridDim.z, ... `fixed` is the number of replicas if the compiler may know it, or 0.
template <class Generator, Colour colour, int units, int fixed>
__global__ void __launch_bounds__(most_threads) update_wide(Sliced layout, Divisor row, std::int64_t words, int any,
                                                            Words32 arrays, Draws draws, Thresholds thresholds) {
  constexpr int interleaved = filling<units>;
  using Element = Spins<units, interleaved>;
  const int replicas = fixed > 0 ? fixed : any, blocks = (replicas - 1) / interleaved + 1;
  const int size = layout.size, plane = size * size, elements = plane * (size / 2);
  const int in_plane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (in_plane >= plane) return;  // whole blocks cover a plane
  const int y = row.quotient(in_plane);
  const Place place{in_plane - y * size, y, static_cast<int>(blockIdx.y)};
  const int i = in_plane + plane * place.z;
  const Neighbours neighbours = layout.neighbours(colour, place);

  for (std::int64_t word = blockIdx.z; word < words; word += gridDim.z) {
    Bonds<units> bonds[directions];  // a blue site's bond is its neighbour's, in the opposite direction
    for (int d = 0; d < directions; ++d) {
      const auto* along = reinterpret_cast<const Bonds<units>*>(arrays.couplings[colour == red ? d : d ^ 1]);
      bonds[d] = fetch(along + word * elements + (colour == red ? i : neighbours.to[d]));
    }
    typename Generator::template Streams<1> stream(
        draws.states, position_of<1>(draws, layout, size, colour, place, word, word * elements + i));
    std::uint32_t all_draws[fixed > 0 ? fixed : 1];
    if constexpr (fixed > 0) draw(stream, all_draws);

#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      const std::int64_t lattice = (word * blocks + block) * elements;
      const auto* others = reinterpret_cast<const Element*>(arrays.spins[other(colour)]) + lattice;
      auto* const own = reinterpret_cast<Element*>(arrays.spins[colour]) + lattice + i;
      Element around[directions];
      for (int d = 0; d < directions; ++d) around[d] = fetch(others + neighbours.to[d]);
      std::uint32_t draws_here[interleaved] = {};
      for (int r = 0; r < interleaved; ++r) {
        if constexpr (fixed > 0)
          draws_here[r] = all_draws[block * interleaved + r];
        else if (block * interleaved + r < replicas)  // the last element may hold replicas that do not exist
          draws_here[r] = stream.draw().of[0];
      }
      *own = updated(*own, around, bonds, draws_here, thresholds);
    }
    stream.store();
  }
}

template <class Generator, int units>
class WideSimulation : public MultispinSimulation<Generator> {
 public:
  using MultispinSimulation<Generator>::MultispinSimulation;

 protected:
  void update(std::int64_t half_sweeps) override {
    for (std::int64_t h = this->half_sweeps_done_; h < this->half_sweeps_done_ + half_sweeps; ++h)
      with_constant<red, blue>(static_cast<int>(h % 2), [&]<int colour>() {
        if (this->packing_.replicas == 4)
          launch<Colour(colour), 4>(h);
        else
          launch<Colour(colour), 0>(h);
      });
  }

 private:
  template <Colour colour, int fixed>
  void launch(std::int64_t h) {
    const Packing& packing = this->packing_;
    const int size = this->size_, threads = *this->launch_.threads;
    const dim3 grid(blocks_for(std::int64_t{size} * size, threads), size / 2, grid_samples(packing.words()));
    update_wide<Generator, colour, units, fixed><<<grid, threads>>>(this->layout_, Divisor(size), packing.words(),
                                                                    packing.replicas, this->words(), this->draws(h),
                                                                    this->thresholds_);
    CHECK_CUDA(cudaGetLastError());
  }
};

}  // namespace

std::unique_ptr<Simulation> make_wide(const Problem& problem, const Launch& launch) {
  return with_generator(problem.generator, [&]<class Generator>() {
    return with_constant<1, 2, 4>(*launch.samples_per_word / Packing::bits, [&]<int units>() {
      return make_multispin<WideSimulation<Generator, units>>(problem, launch, filling<units>);
    });
  });
}

}  // namespace psflip::PSFLIP_PLATFORM
