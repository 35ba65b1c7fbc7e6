// A whole system stays on the chip.
//
// Spins and couplings of a small system fit into the shared memory of a thread block, or of a cluster of blocks that
// can read each other's. So a kernel fetches them once, does as many sweeps as it is asked for, and puts the spins
// back: in between nothing crosses the memory bus but the states of the streams, and these stay in the L2 cache.

#include "07_amsc/elements.hpp"
#include "07_amsc/kernels/cluster_simulation.cuh"
#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/kernels/strips.hpp"
#include "07_amsc/multispin_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

/// A cluster takes a system: a word and all its replicas, in `bundles` elements. A thread takes the sites of a column,
/// every blockDim.z-th of them. `alone`: the cluster is one thread block.
template <class Prng, int units, int replicas, int interleaved, int bundles, bool alone>
__global__ void __launch_bounds__(bundles* units > 1 ? 512 : 1024) update_resident(const Sweeps sweeps) {
  using Element = Spins<units, interleaved>;
  using Bond = Bonds<units>;
  extern __shared__ uint4 memory[];
  if constexpr (!alone && !Cluster::exists) return;  // a device without clusters never gets this one
  const Cluster cluster;
  const int size = sweeps.layout.size;
  const Strip strip{size, alone ? 1 : cluster.ranks(), alone ? 0 : cluster.rank()};
  const System<replicas, interleaved, bundles> system(sweeps, blockIdx.x / strip.ranks);
  const int plane = strip.plane(), planes = strip.planes(), elements = plane * planes;

  // In shared memory: spins[colour][bundle][plane][row][x], bonds[direction][plane][row][x].
  Element* const spins = reinterpret_cast<Element*>(memory);
  Bond* const bonds = reinterpret_cast<Bond*>(spins + 2 * bundles * elements);
  const int x = threadIdx.x, y = threadIdx.y, row = strip.first_row() + y;
  const int column = x + size * y, place = x + size * row;  // in a plane of the strip, and of the lattice
  const int first = y < strip.rows_of(strip.rank) ? static_cast<int>(threadIdx.z) : planes;  // the last strip is lower
  const int step = blockDim.z;
  for (int z = first; z < planes; z += step) {
    const int to = column + plane * z, from = place + size * size * z;
    for (int colour = red; colour <= blue; ++colour)
      for (int bundle = 0; bundle < bundles; ++bundle)
        spins[(colour * bundles + bundle) * elements + to] = system.template spins<Element>(colour, bundle)[from];
    for (int d = 0; d < directions; ++d) bonds[d * elements + to] = fetch(system.template bonds<Bond>(d) + from);
  }
  const auto spin_rows = Rows<Element>::template of<alone>(strip, spins, y);
  const auto bond_rows = Rows<Bond>::template of<alone>(strip, bonds, y);

  std::uint32_t draws[replicas];
  const auto make_draws = [&](std::int64_t h, int z) { draw_for_site<Prng>(sweeps, system, h, {x, row, z}, draws); };
  const auto half_sweep = [&]<int colour>(std::int64_t h) {
    for (int z = first; z < planes; z += step) {
      const int here = column + plane * z;
      const Around neighbours(strip, x, plane * (colour == red ? z : after(z, planes)),
                              plane * (colour == red ? before(z, planes) : z));
      if (z != first) make_draws(h, z);
      Bond bond[directions];
      if constexpr (colour == red)
        for (int d = 0; d < directions; ++d) bond[d] = bonds[d * elements + here];
      else  // a blue site's bond is its neighbour's, in the opposite direction
        neighbours.look(
            bond_rows, elements, [](int d) { return d ^ 1; }, bond);
#pragma unroll
      for (int bundle = 0; bundle < bundles; ++bundle) {
        Element around[directions];
        neighbours.look(
            spin_rows, elements, [&](int) { return (1 - colour) * bundles + bundle; }, around);
        std::uint32_t draws_here[interleaved];
        system.choose(draws, bundle, draws_here);
        Element& own = spins[(colour * bundles + bundle) * elements + here];
        own = updated(own, around, bond, draws_here, sweeps.thresholds, system.first_replica(bundle));
      }
    }
  };

  if (first < planes) make_draws(sweeps.first, first);
  cluster.sync();
  for (std::int64_t h = sweeps.first; h < sweeps.first + sweeps.half_sweeps; ++h) {
    if (h % 2 == red)
      half_sweep.template operator()<red>(h);
    else
      half_sweep.template operator()<blue>(h);
    // The draws of a site depend on no spin: a thread makes the first ones while others have still to arrive.
    const bool more = h + 1 < sweeps.first + sweeps.half_sweeps && first < planes;
    if constexpr (alone) {
      if (more) make_draws(h + 1, first);
      __syncthreads();
    } else {
      cluster.arrive();
      if (more) make_draws(h + 1, first);
      cluster.wait();
    }
  }

  for (int z = first; z < planes; z += step) {
    const int from = column + plane * z, to = place + size * size * z;
    for (int colour = red; colour <= blue; ++colour)
      for (int bundle = 0; bundle < bundles; ++bundle)
        system.template spins<Element>(colour, bundle)[to] = spins[(colour * bundles + bundle) * elements + from];
  }
}

template <class Prng, int units, int replicas, int interleaved, int bundles>
class ResidentSimulation : public ClusterSimulation<Prng> {
 public:
  using ClusterSimulation<Prng>::ClusterSimulation;

  /// Of many sweeps in one launch: nothing but the streams.
  double bytes_per_flip() const override { return this->bytes_of_streams(); }

 protected:
  void update(std::int64_t half_sweeps) override {
    const Launch& launch = this->launch_;
    const int rows = Strip{this->size_, *launch.cluster, 0}.rows();
    const dim3 threads(this->size_, rows, std::clamp(*launch.threads / (this->size_ * rows), 1, this->size_ / 2));
    const auto kernel = *launch.cluster == 1 ? update_resident<Prng, units, replicas, interleaved, bundles, true>
                                             : update_resident<Prng, units, replicas, interleaved, bundles, false>;
    this->launch_clusters(kernel, threads, resident_bytes(this->problem_, launch),
                          this->sweeps(this->half_sweeps_done_, half_sweeps));
  }
};

}  // namespace

std::size_t resident_bytes(const Problem& problem, const Launch& launch) {
  const Strip strip{static_cast<int>(problem.size), *launch.cluster, 0};
  const std::size_t words = 2 * *launch.replicas_together + directions;
  return words * *launch.samples_per_word / 8 * strip.plane() * strip.planes();
}

std::unique_ptr<Simulation> make_resident(const Problem& problem, const Launch& launch) {
  return make_clusters<ResidentSimulation, false, 1, 2, 4>(problem, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
