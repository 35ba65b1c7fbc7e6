// Stage 04: the checkerboard.
//
// Metropolis must not update two neighbours at once: each would decide by a spin that is about to change. But all six
// neighbours of a red site are blue. So red and blue spins lie in two arrays, one kernel updates all red ones, reading
// blue spins that stand still, and then the colours change places. One thread owns a site: its random stream, and so
// its spins in all replicas, which that stream serves in turn.

#include "04_checkerboard/bitwise.hpp"
#include "04_checkerboard/standard.hpp"
#include "spin_glass/engine/device_simulation.cuh"
#include "spin_glass/engine/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

using namespace spin_glass;

constexpr int default_threads = 128;

// --- yours: a thread owns a site: load couplings and stream once, update every replica, store the stream
/// Metropolis: whether a spin flips that has so many unsatisfied bonds of its six. With three the energy stays; each
/// threshold above the draw makes up for one that is missing. (To choose one, lanes would have to branch.)
__device__ bool flips(int unsatisfied, std::uint32_t draw, const Thresholds& thresholds) {
  return unsatisfied + (draw < thresholds.of[0]) + (draw < thresholds.of[1]) + (draw < thresholds.of[2]) >= 3;
}

/// The six couplings of the sites of a colour: along[direction][sample * half + i].
struct Couplings {
  const CouplingByte* along[directions];
};

/// Updates the sites of one colour. What belongs to site number i of the colour, in one sample, is number
/// sample * half + i in couplings and streams, and (sample * replicas + replica) * half + i in the spins. `others` are
/// the spins of the other colour.
template <class Layout>
__global__ void __launch_bounds__(1024)
    update(Layout layout, Colour colour, int half, int samples, int replicas, SpinByte* spins, const SpinByte* others,
           Couplings couplings, Minstd* streams, ReplicaThresholds thresholds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= half) return;  // whole blocks cover the sites: some threads have none
  const Neighbours neighbours = layout.neighbours(colour, layout.place(i));

  for (std::int64_t sample = blockIdx.y; sample < samples; sample += gridDim.y) {
    CouplingByte coupling[directions];
    for (int d = 0; d < directions; ++d) coupling[d] = couplings.along[d][sample * half + i];
    Minstd stream = streams[sample * half + i];

    for (int replica = 0; replica < replicas; ++replica) {
      const std::int64_t lattice = (sample * replicas + replica) * half;
      const SpinByte spin = spins[lattice + i];
      int unsatisfied = 0;
      for (int d = 0; d < directions; ++d) unsatisfied += spin ^ others[lattice + neighbours.to[d]] ^ coupling[d];
      spins[lattice + i] = spin ^ flips(unsatisfied, stream.draw(), thresholds[replica]);
    }
    streams[sample * half + i] = stream;
  }
}
// --- end

template <class Layout>
class Checkerboard : public DeviceSimulation<Layout> {
 public:
  using DeviceSimulation<Layout>::DeviceSimulation;

 protected:
  void launch_half_sweep(Colour colour) override {
    const int threads = *this->launch_.threads;
    const dim3 grid(blocks_for(this->half_, threads), grid_samples(this->problem_.samples));
    Couplings couplings;
    for (int d = 0; d < directions; ++d) couplings.along[d] = this->couplings_[colour][d].data();
    update<<<grid, threads>>>(this->layout_, colour, this->half_, static_cast<int>(this->problem_.samples),
                              static_cast<int>(this->problem_.replicas), this->spins_[colour].data(),
                              this->spins_[other(colour)].data(), couplings, this->minstd_streams(colour),
                              this->thresholds_);
  }
};

}  // namespace

std::unique_ptr<Simulation> make_simulation(const Problem& problem, const Launch& wish) {
  const Offer offer{.launches = {{.indexing = Indexing::standard}, {.indexing = Indexing::bitwise}},
                    .threads = default_threads};
  const Launch launch = complete(problem, wish, offer);
  refuse_large_problem(problem, launch, bytes_needed(problem, CouplingsOf::red_and_blue));

  const int size = static_cast<int>(problem.size);
  if (*launch.indexing == Indexing::standard)
    return std::make_unique<Checkerboard<Standard>>(problem, launch, Standard{size}, CouplingsOf::red_and_blue);
  const int bits = std::countr_zero(static_cast<unsigned>(size));
  return std::make_unique<Checkerboard<Bitwise>>(problem, launch, Bitwise{bits}, CouplingsOf::red_and_blue);
}

}  // namespace psflip::PSFLIP_PLATFORM
