// Stage 08: many GPUs.
//
// The planes of the sliced layout are cut into slabs, one a rank. A red plane needs the blue planes above and below it,
// and of those the one below the slab's first red plane is another rank's: red needs the rank before, blue the next
// one, and never both. So in each half-sweep one plane goes one way. It is the boundary plane that is sent, and that
// needs what was received: it goes first, in a stream of its own, and while it travels the bulk of the slab is updated
// in another.

#include "07_amsc/kernels/wide.cuh"
#include "08_mpi/slab_simulation.cuh"
#include "08_mpi/update.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

template <class Prng, int units>
class WideSlabSimulation : public SlabSimulation<WidePlanes<Prng, units, Slab>> {
 public:
  using SlabSimulation<WidePlanes<Prng, units, Slab>>::SlabSimulation;

 protected:
  // --- yours: boundary and bulk in two streams, and who waits for whom; the plane travels while the bulk is updated
  void launch_half_sweep(Colour colour) override {
    using Span = Timeline::Span;
    const Slab& slab = this->layout_;
    bulk_updated_.hold(boundary_);  // each looks at planes that the other updated in the half-sweep before
    boundary_updated_.hold(bulk_);
    {
      const Span boundary(this->timeline_, "boundary", boundary_);
      this->update_planes(colour, slab.boundary(colour), 1, boundary_);
      boundary_updated_.record(boundary_);
    }
    const Span transfer(this->timeline_, "transfer", boundary_);
    this->exchange_->send(colour, boundary_);
    {
      const Span bulk(this->timeline_, "bulk", bulk_);
      this->update_planes(colour, 1, slab.planes - 1, bulk_);  // red: all but 0; blue: all but the last, from 1 on
      bulk_updated_.record(bulk_);
    }
    this->exchange_->receive(colour, boundary_);
  }
  // --- end

 private:
  Stream boundary_{true}, bulk_{false};
  Event boundary_updated_, bulk_updated_;
};

}  // namespace

std::unique_ptr<Simulation> make_wide_slab(const Problem& problem, const Launch& launch, const Slab& slab) {
  return with_generator(problem.generator, [&]<class Prng>() {
    return with_constant<1, 2, 4>(*launch.samples_per_word / Packing::bits, [&]<int units>() {
      return make_slab<WideSlabSimulation<Prng, units>>(problem, launch, filling<units>, slab);
    });
  });
}

}  // namespace psflip::PSFLIP_PLATFORM
