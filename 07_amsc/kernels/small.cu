// One small system.
//
// A system of 32 samples with L = 32 is half a microsecond of work for a whole GPU. Starting a kernel takes longer, and
// so does a barrier of all its blocks. A cluster of 16 blocks has a barrier in hardware and 16384 threads: one for
// every site of each colour, that keeps its couplings, its stream and its spin in registers. Only what neighbours have
// to see is in shared memory, and a block writes the rows at its edges into its neighbours' memory as well. The
// replicas, which know nothing of each other, go to clusters of their own.

#include "07_amsc/elements.hpp"
#include "07_amsc/kernels/cluster_simulation.cuh"
#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/kernels/strips.hpp"
#include "07_amsc/multispin_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

/// Thread (x, y, z) has the red and the blue site at row y of the block's strip in plane z.
template <class Prng, int replicas, int interleaved>
__global__ void __launch_bounds__(1024) update_small(const Sweeps sweeps) {
  using Element = Spins<1, interleaved>;
  using Bond = Bonds<1>;
  extern __shared__ uint4 memory[];
  const Cluster cluster;
  const Strip strip{sweeps.layout.size, cluster.ranks(), cluster.rank()};
  const System<replicas, interleaved, 1> system(sweeps, blockIdx.x / strip.ranks);
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, planes = strip.planes();
  if (y >= strip.rows_of(strip.rank)) return;  // the last strip may be lower

  const Place place{x, strip.first_row() + y, z};
  const int i = sweeps.layout.element(place.x, place.y, place.z);
  const Neighbours neighbours = sweeps.layout.neighbours(blue, place);
  Element own[2];
  Bond bonds[2][directions];
  for (const Colour colour : {red, blue}) own[colour] = system.template spins<Element>(colour, 0)[i];
  for (int d = 0; d < directions; ++d) {  // a blue site's bond is its neighbour's, in the opposite direction
    bonds[red][d] = fetch(system.template bonds<Bond>(d) + i);
    bonds[blue][d] = fetch(system.template bonds<Bond>(d ^ 1) + neighbours.to[d]);
  }
  auto red_stream = stream_for_site<Prng>(sweeps, system, sweeps.first + sweeps.first % 2, place);
  auto blue_stream = stream_for_site<Prng>(sweeps, system, sweeps.first | 1, place);
  std::uint32_t draws[replicas];
  const auto draw_for = [&](int colour) {
    const auto draw_from = [&](auto& stream) {
      draw(stream, draws);
      if constexpr (requires { stream.skip(0); }) stream.skip(sweeps.replicas - replicas);  // other systems have them
    };
    if (colour == red)
      draw_from(red_stream);
    else
      draw_from(blue_stream);
  };

  const HaloPlanes<Element> spins(strip, reinterpret_cast<Element*>(memory));  // [colour][plane]
  const auto plane_of = [&](int colour, int plane) {
    return (colour * planes + plane) * HaloPlanes<Element>::plane(strip);
  };
  const auto half_sweep = [&]<int colour>() {
    const int upper = plane_of(1 - colour, colour == red ? z : after(z, planes));
    const int lower = plane_of(1 - colour, colour == red ? before(z, planes) : z);
    Element around[directions];
    spins.look(upper, lower, x, y, around);
    std::uint32_t draws_here[interleaved];
    system.choose(draws, 0, draws_here);
    own[colour] = updated(own[colour], around, bonds[colour], draws_here, sweeps.thresholds, system.first_replica(0));
    spins.put(plane_of(colour, z), x, y, own[colour]);
  };

  cluster.sync();  // all blocks are there: their memory may be written
  for (const Colour colour : {red, blue}) spins.put(plane_of(colour, z), x, y, own[colour]);
  draw_for(sweeps.first % 2);
  cluster.sync();
  for (std::int64_t h = sweeps.first; h < sweeps.first + sweeps.half_sweeps; ++h) {
    if (h % 2 == red)
      half_sweep.template operator()<red>();
    else
      half_sweep.template operator()<blue>();
    cluster.arrive();
    if (h + 1 < sweeps.first + sweeps.half_sweeps) draw_for((h + 1) % 2);  // needs no spin, so nobody to wait for
    cluster.wait();
  }
  for (const Colour colour : {red, blue}) system.template spins<Element>(colour, 0)[i] = own[colour];
  red_stream.store();
  blue_stream.store();
}

template <class Prng, int units, int replicas, int interleaved, int bundles>
class SmallSimulation : public ClusterSimulation<Prng> {
 public:
  using ClusterSimulation<Prng>::ClusterSimulation;

  /// Of many sweeps in one launch: nothing but the streams.
  double bytes_per_flip() const override { return this->bytes_of_streams(); }

 protected:
  void update(std::int64_t half_sweeps) override {
    const dim3 threads(this->size_, Strip{this->size_, *this->launch_.cluster, 0}.rows(), this->size_ / 2);
    this->launch_clusters(update_small<Prng, replicas, interleaved>, threads,
                          small_bytes(this->problem_, this->launch_),
                          this->sweeps(this->half_sweeps_done_, half_sweeps));
  }
};

}  // namespace

std::size_t small_bytes(const Problem& problem, const Launch& launch) {
  const Strip strip{static_cast<int>(problem.size), *launch.cluster, 0};
  return std::size_t{4} * *launch.replicas_together * 2 * strip.planes() * HaloPlanes<std::uint32_t>::plane(strip);
}

std::unique_ptr<Simulation> make_small(const Problem& problem, const Launch& launch) {
  return make_clusters<SmallSimulation, true, 1>(problem, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
