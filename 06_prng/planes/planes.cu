// Stage 06: philox-planes, as plainly as it can be had.
//
// A generator for threads that have the 32 sites of a word (07_amsc/synchronous). A draw is a bit of each of eight
// words of Philox, and more only where these are zeros; and what it accepts is decided bit by bit, so a draw that
// accepts a small threshold need not accept a larger one. Here a thread has one site: it makes all eight words and uses
// one bit of each, 32 times the work. So this kernel is slow, and only compared with.

#include "05_sliced/sliced.hpp"
#include "06_prng/generators/philox_planes.hpp"
#include "06_prng/planes/planes.hpp"
#include "spin_glass/engine/device_simulation.cuh"
#include "spin_glass/engine/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;
using prng::DrawsOfWord;
using prng::PhiloxPlanes;

/// The six couplings of the red sites: along[direction][sample * half + i].
struct CouplingsOfRed {
  const CouplingByte* along[directions];
};

/// Updates the sites of one colour, of which there are `half` in a sample; what belongs to site number i of it is
/// number sample * half + i in the couplings, and (sample * replicas + replica) * half + i in the spins. `sweep`: its
/// number.
__global__ void update_by_bits(Sliced layout, Colour colour, int size, int half, int samples, int replicas,
                               SpinByte* spins, const SpinByte* others, CouplingsOfRed couplings, Origin origin,
                               std::uint32_t sweep, ReplicaThresholds thresholds) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= half) return;  // whole blocks cover the sites: some threads have none
  const Place place = layout.place(i);
  const Neighbours neighbours = layout.neighbours(colour, place);
  const PhiloxPlanes::Place in_words = PhiloxPlanes::place_of(
      static_cast<std::uint32_t>(number(layout.site(colour, place), size)), static_cast<std::uint32_t>(size));

  for (std::int64_t sample = blockIdx.y; sample < samples; sample += gridDim.y) {
    const auto group = static_cast<std::uint32_t>(origin.group + sample);  // each sample is one
    for (int replica = 0; replica < replicas; ++replica) {
      const std::int64_t lattice = (sample * replicas + replica) * half;
      const SpinByte spin = spins[lattice + i];
      int unsatisfied = 0;
      for (int d = 0; d < directions; ++d) {  // a blue site's bond is its neighbour's, in the opposite direction
        const CouplingByte coupling = colour == red ? couplings.along[d][sample * half + i]
                                                    : couplings.along[d ^ 1][sample * half + neighbours.to[d]];
        unsatisfied += spin ^ others[lattice + neighbours.to[d]] ^ coupling;
      }
      const std::uint32_t draw =
          DrawsOfWord(origin.seed, in_words.word, static_cast<std::uint32_t>(replica), sweep, group).draw(in_words.bit);
      const bool flips = unsatisfied >= 3 || PhiloxPlanes::accepts(draw, thresholds[replica].of[unsatisfied]);
      spins[lattice + i] = spin ^ static_cast<SpinByte>(flips);
    }
  }
}

using EngineOfPlanes = DeviceSimulation<Sliced, PhiloxPlanes>;

class PlanesSimulation : public EngineOfPlanes {
 public:
  using EngineOfPlanes::EngineOfPlanes;

 protected:
  void launch_half_sweep(Colour colour) override {
    CouplingsOfRed couplings;
    for (int d = 0; d < directions; ++d) couplings.along[d] = couplings_[red][d].data();
    const dim3 grid(blocks_for(half_, *launch_.threads), grid_samples(problem_.samples));
    update_by_bits<<<grid, *launch_.threads>>>(
        layout_, colour, size_, half_, static_cast<int>(problem_.samples), static_cast<int>(problem_.replicas),
        spins_[colour].data(), spins_[other(colour)].data(), couplings, origin(problem_),
        static_cast<std::uint32_t>(draws_done() / problem_.replicas), thresholds_);
  }
};

}  // namespace

std::unique_ptr<Simulation> make_planes(const Problem& problem, const Launch& launch) {
  refuse_large_problem(problem, launch, bytes_needed<PhiloxPlanes>(problem, CouplingsOf::red));
  const int size = static_cast<int>(problem.size);
  return std::make_unique<PlanesSimulation>(problem, launch, Sliced{size, size}, CouplingsOf::red);
}

}  // namespace psflip::PSFLIP_PLATFORM
