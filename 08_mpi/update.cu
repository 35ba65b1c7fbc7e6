// Stage 08: many GPUs.
//
// The planes of the sliced layout are cut into slabs, one a rank. A red plane needs the blue planes above and below it,
// and of those the one below the slab's first red plane is another rank's: red needs the rank before, blue the next
// one, and never both. So in each half-sweep one plane goes one way. It is the boundary plane that is sent, and that
// needs what was received: it goes first, in a stream of its own, and while it travels the bulk of the slab is updated
// in another.

#include "07_amsc/elements.hpp"
#include "08_mpi/slab_simulation.cuh"
#include "08_mpi/update.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

constexpr int most_threads = 512;  // of a block: fewer threads may have more registers

/// A thread takes a site of one colour and a word, in all replicas. A block lies in the plane `first` + blockIdx.y of
/// the words blockIdx.z, + gridDim.z, ... `fixed` is the number of replicas if the compiler may know it, or 0.
template <class Generator, Colour colour, int units, int fixed>
__global__ void __launch_bounds__(most_threads)
    update_planes(Slab slab, int first, Divisor row, std::int64_t words, int any, Words32 arrays, Draws draws,
                  Thresholds thresholds) {
  constexpr int interleaved = filling<units>;
  using Element = Spins<units, interleaved>;
  const int replicas = fixed > 0 ? fixed : any, blocks = (replicas - 1) / interleaved + 1;
  const int size = slab.size, plane = slab.area(), elements = slab.elements();
  const int in_plane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (in_plane >= plane) return;  // whole blocks cover a plane
  const int y = row.quotient(in_plane);
  const Place place{in_plane - y * size, y, first + static_cast<int>(blockIdx.y)};
  const int i = in_plane + plane * place.z;
  const Neighbours neighbours = slab.neighbours(colour, place);

  for (std::int64_t word = blockIdx.z; word < words; word += gridDim.z) {
    Bonds<units> bonds[directions];  // a blue site's bond is its neighbour's, in the opposite direction
    for (int d = 0; d < directions; ++d) {
      const auto* along = reinterpret_cast<const Bonds<units>*>(arrays.couplings[colour == red ? d : d ^ 1]);
      bonds[d] = fetch(along + word * elements + (colour == red ? i : neighbours.to[d]));
    }
    typename Generator::template Streams<1> stream(
        draws.states, position_of<1>(draws, slab, size, colour, place, word, word * elements + i));
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
class OverlappedSimulation : public SlabSimulation<Generator> {
 public:
  using SlabSimulation<Generator>::SlabSimulation;

 protected:
  // --- yours: boundary and bulk in two streams, and who waits for whom; the plane travels while the bulk is updated
  void update(std::int64_t half_sweeps) override {
    using Span = Timeline::Span;
    const Slab& slab = this->layout_;
    for (std::int64_t h = this->half_sweeps_done_; h < this->half_sweeps_done_ + half_sweeps; ++h) {
      const Colour colour = Colour(h % 2);
      bulk_updated_.hold(boundary_);  // each looks at planes that the other updated in the half-sweep before
      boundary_updated_.hold(bulk_);
      {
        const Span boundary(this->timeline_, "boundary", boundary_);
        update_planes_of(colour, h, slab.boundary(colour), 1, boundary_);
        boundary_updated_.record(boundary_);
      }
      const Span transfer(this->timeline_, "transfer", boundary_);
      this->exchange_->send(colour, boundary_);
      {
        const Span bulk(this->timeline_, "bulk", bulk_);
        update_planes_of(colour, h, 1, slab.planes - 1, bulk_);  // red: all but 0; blue: all but the last, from 1 on
        bulk_updated_.record(bulk_);
      }
      this->exchange_->receive(colour, boundary_);
    }
  }
  // --- end

 private:
  /// Updates planes first .. first + count - 1 of a colour's array.
  void update_planes_of(Colour colour, std::int64_t h, int first, int count, cudaStream_t stream) {
    if (count == 0) return;
    with_constant<red, blue>(static_cast<int>(colour), [&]<int c>() {
      if (this->packing_.replicas == 4)
        launch<Colour(c), 4>(h, first, count, stream);
      else
        launch<Colour(c), 0>(h, first, count, stream);
    });
  }

  template <Colour colour, int fixed>
  void launch(std::int64_t h, int first, int count, cudaStream_t stream) {
    const Packing& packing = this->packing_;
    const int threads = *this->launch_.threads;
    const dim3 grid(blocks_for(this->layout_.area(), threads), count, grid_samples(packing.words()));
    update_planes<Generator, colour, units, fixed>
        <<<grid, threads, 0, stream>>>(this->layout_, first, Divisor(this->size_), packing.words(), packing.replicas,
                                       this->words(), this->draws(h), this->thresholds_);
    CHECK_CUDA(cudaGetLastError());
  }

  Stream boundary_{true}, bulk_{false};
  Event boundary_updated_, bulk_updated_;
};

}  // namespace

std::unique_ptr<Simulation> make_overlapped(const Problem& problem, const Launch& launch, const Slab& slab) {
  return with_generator(problem.generator, [&]<class Generator>() {
    return with_constant<1, 2, 4>(*launch.samples_per_word / Packing::bits, [&]<int units>() {
      return make_slab<OverlappedSimulation<Generator, units>>(problem, launch, filling<units>, slab);
    });
  });
}

}  // namespace psflip::PSFLIP_PLATFORM
