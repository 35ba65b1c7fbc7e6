// Red and blue in one pass.
//
// A half-sweep moves the spins of its colour in and out, those of the other colour in, and all couplings. But once the
// red planes p and p + 1 are new, the blue plane between them can follow: on the way through the lattice along z' red
// goes ahead, blue follows two planes behind, and a sweep moves every spin once. A cluster of thread blocks takes a
// system; only the planes between red and blue are in its shared memory, each block with a strip of their rows.

#include "07_amsc/elements.hpp"
#include "07_amsc/kernels/cluster_simulation.cuh"
#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/kernels/strips.hpp"
#include "07_amsc/multispin_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

constexpr int slots = 3;  ///< planes of each colour in shared memory

// --- yours: red goes ahead along z', blue follows; what does a plane need before it is updated?
/// A thread takes the sites at x = threadIdx.x and row threadIdx.y of its block's strip, one of each colour in a step.
template <class Prng, int units, int replicas, int interleaved, int bundles>
__global__ void __launch_bounds__(512) update_fused(const Sweeps sweeps) {
  using Element = Spins<units, interleaved>;
  using Bond = Bonds<units>;
  extern __shared__ uint4 memory[];
  const Cluster cluster;
  const int size = sweeps.layout.size, planes = size / 2, flat = size * size;
  const Strip strip{size, cluster.ranks(), cluster.rank()};
  const System<replicas, interleaved, bundles> system(sweeps, blockIdx.x / strip.ranks);
  const int x = threadIdx.x, y = threadIdx.y, row = strip.first_row() + y, column = x + size * row;
  if (y >= strip.rows_of(strip.rank)) return;  // the last strip may be lower

  // [colour][slot][bundle]: plane p of a colour is in slot p mod 3, from when it is fetched or new until it is
  // replaced.
  const HaloPlanes<Element> ring(strip, reinterpret_cast<Element*>(memory));
  const int plane = HaloPlanes<Element>::plane(strip), blues = slots * bundles * plane;
  const auto put = [&](int slot, const Element(&spins)[bundles]) {
    for (int bundle = 0; bundle < bundles; ++bundle) ring.put(slot + bundle * plane, x, y, spins[bundle]);
  };
  const auto get = [&](int slot, Element(&spins)[bundles]) {
    for (int bundle = 0; bundle < bundles; ++bundle) spins[bundle] = ring.at(slot + bundle * plane, x, y);
  };
  const auto read = [&](Colour colour, int p, Element(&spins)[bundles]) {
    for (int bundle = 0; bundle < bundles; ++bundle)
      spins[bundle] = system.template spins<Element>(colour, bundle)[column + flat * p];
  };
  const auto write = [&](Colour colour, int p, const Element(&spins)[bundles]) {
    for (int bundle = 0; bundle < bundles; ++bundle)
      system.template spins<Element>(colour, bundle)[column + flat * p] = spins[bundle];
  };

  // In the couplings, relative to the column: where the rows of a blue site's red neighbours are.
  const int row_before = size * (before(row, size) - row), row_after = size * (after(row, size) - row);
  const int right = after(x, size) - x + row_before, left = before(x, size) - x + row_after;
  const auto bond = [&](int direction, int i) { return fetch(system.template bonds<Bond>(direction) + column + i); };
  const auto red_bonds_of = [&](int p, Bond(&bonds)[directions]) {
    for (int d = 0; d < directions; ++d) bonds[d] = bond(d, flat * p);
  };
  const auto blue_bonds_of = [&](int p, Bond(&bonds)[directions]) {  // its neighbour's, in the opposite direction
    const int upper = flat * after(p, planes), lower = flat * p;
    bonds[plus_x] = bond(minus_x, upper + right), bonds[minus_x] = bond(plus_x, lower + left);
    bonds[plus_y] = bond(minus_y, lower + row_after), bonds[minus_y] = bond(plus_y, upper + row_before);
    bonds[plus_z] = bond(minus_z, upper), bonds[minus_z] = bond(plus_z, lower);
  };
  const auto update = [&](Element(&spins)[bundles], const Bond(&bonds)[directions],
                          const std::uint32_t(&draws)[replicas], int upper, int lower) {
#pragma unroll
    for (int bundle = 0; bundle < bundles; ++bundle) {
      Element around[directions];
      ring.look(upper + bundle * plane, lower + bundle * plane, x, y, around);
      std::uint32_t draws_here[interleaved];
      system.choose(draws, bundle, draws_here);
      spins[bundle] =
          updated(spins[bundle], around, bonds, draws_here, sweeps.thresholds, system.first_replica(bundle));
    }
  };

  cluster.sync();  // all blocks are there: their memory may be written
  const std::int64_t end = sweeps.first + sweeps.half_sweeps;
  for (std::int64_t h = sweeps.first; h < end; h = (h / 2 + 1) * 2) {
    const bool with_red = h % 2 == red, with_blue = !with_red || h + 1 < end;  // the first and last may be half a sweep
    int now = 0, previous = 2 * bundles * plane, next = bundles * plane;       // the slots of planes p, p - 1 and p + 1
    Element reds[bundles];
    read(blue, planes - 1, reds);
    put(blues + previous, reds);
    read(blue, 0, reds);
    put(blues + now, reds);
    std::uint32_t red_draws[replicas] = {}, blue_draws[replicas] = {};
    const auto make_draws = [&](int p) {  // for red plane p and blue plane p - 2
      if (p < planes && with_red) draw_for_site<Prng>(sweeps, system, h, {x, row, p}, red_draws);
      if (p >= 2 && p < planes + 2 && with_blue)
        draw_for_site<Prng>(sweeps, system, h | 1, {x, row, p - 2}, blue_draws);
    };
    make_draws(0);
    cluster.sync();

    for (int p = 0; p < planes + 2; ++p) {  // red plane p, blue plane p - 2
      const bool red_now = p < planes && with_red, blue_now = p >= 2 && with_blue;
      Element incoming[bundles], blues_new[bundles];
      Bond bonds[directions], blue_bonds[directions];
      if (p <= planes) read(red, p < planes ? p : 0, reds);  // the last blue plane needs the first red one once more
      if (p + 1 < planes) read(blue, p + 1, incoming);       // red plane p + 1 will ask for it
      if (red_now) red_bonds_of(p, bonds);
      if (blue_now) blue_bonds_of(p - 2, blue_bonds);
      if (red_now) update(reds, bonds, red_draws, blues + now, blues + previous);
      if (p <= planes) put(now, reds);
      if (blue_now) {
        get(blues + next, blues_new);
        update(blues_new, blue_bonds, blue_draws, previous, next);
      }
      if (p + 1 < planes) put(blues + next, incoming);
      // Nobody waits for what comes between: spins that go to device memory, and draws, which need no spin.
      cluster.arrive();
      if (red_now) write(red, p, reds);
      if (blue_now) write(blue, p - 2, blues_new);
      make_draws(p + 1);
      const int oldest = previous;
      previous = now, now = next, next = oldest;
      cluster.wait();
    }
  }
}
// --- end

template <class Prng, int units, int replicas, int interleaved, int bundles>
class FusedSimulation : public ClusterSimulation<Prng> {
 public:
  using ClusterSimulation<Prng>::ClusterSimulation;

  double bytes_per_flip() const override {
    // A word of spins: in and out. Then, for the replicas of a cluster, six of couplings for two flips.
    return (2 + 3.0 / *this->launch_.replicas_together) / 8 + this->bytes_of_streams();
  }

 protected:
  void update(std::int64_t half_sweeps) override {
    const Launch& launch = this->launch_;
    const int rows = Strip{this->size_, *launch.cluster, 0}.rows();
    const dim3 threads(this->size_, rows);
    this->launch_clusters(update_fused<Prng, units, replicas, interleaved, bundles>, threads,
                          fused_bytes(this->problem_, launch), this->sweeps(this->half_sweeps_done_, half_sweeps));
  }
};

}  // namespace

std::size_t fused_bytes(const Problem& problem, const Launch& launch) {
  const Strip strip{static_cast<int>(problem.size), *launch.cluster, 0};
  return std::size_t{2} * slots * *launch.replicas_together * *launch.samples_per_word / 8 *
         HaloPlanes<std::uint32_t>::plane(strip);
}

std::unique_ptr<Simulation> make_fused(const Problem& problem, const Launch& launch) {
  return make_clusters<FusedSimulation, true, 1, 2>(problem, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
