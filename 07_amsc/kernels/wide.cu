// 16 bytes at once, in a lattice that lies on one device: wide.cuh has the kernel.

#include "07_amsc/kernels/wide.cuh"

#include "07_amsc/kernels/kernels.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

template <class Prng, int units>
class WideSimulation : public WidePlanes<Prng, units> {
 public:
  using WidePlanes<Prng, units>::WidePlanes;

 protected:
  void launch_half_sweep(Colour colour) override { this->update_planes(colour, 0, this->size_ / 2, nullptr); }
};

}  // namespace

std::unique_ptr<Simulation> make_wide(const Problem& problem, const Launch& launch) {
  return with_generator(problem.generator, [&]<class Prng>() {
    return with_constant<1, 2, 4>(*launch.samples_per_word / Packing::bits, [&]<int units>() {
      return make_multispin<WideSimulation<Prng, units>>(problem, launch, filling<units>);
    });
  });
}

}  // namespace psflip::PSFLIP_PLATFORM
