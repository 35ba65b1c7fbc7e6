// Two sweeps in one pass over memory, for lattices that do not fit on the chip. march.cuh is the kernel; here is the
// engine around it: the gauge, two sets of spins that change places, and how a lattice is cut.

#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/kernels/overlapped/pass.hpp"
#include "07_amsc/kernels/overlapped/tile.hpp"
#include "07_amsc/kernels/wide.cuh"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;
using amsc::Tile;

/// Begins and ends with half-sweeps of wide.cuh where they do not fill passes, or are too few to be worth the gauge.
template <int units, int bundles>
class OverlappedSimulation : public WidePlanes<prng::Philox<>, units> {
  using Base = WidePlanes<prng::Philox<>, units>;

 public:
  OverlappedSimulation(const Problem& problem, const Launch& launch, const Packing& packing, int copies)
      : Base(problem, launch, packing, copies), gauge_(Gauge::whole(this->size_)) {
    this->threads_ = column_threads;
    for (auto& spins : others_) spins = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(packing.spin_units()));
    for (auto& bonds : bonds_)
      bonds = DeviceBuffer<BondsUp<units>>(static_cast<std::size_t>(packing.coupling_units() / units));
    seam_ = DeviceBuffer<Bonds<units>>(static_cast<std::size_t>(packing.words() * gauge_.flat()));
    climb_columns<<<columns_of_words(), column_threads>>>(gauge_, this->words(), packing.words(), seam_.data());
    CHECK_CUDA(cudaGetLastError());
    make_gauged_bonds<units>
        <<<columns_of_words(), column_threads>>>(gauge_, this->words(), packing.words(), nullptr, gauged());
    CHECK_CUDA(cudaGetLastError());
    Kernel::prepare();
    int multiprocessors = 0;  // a block's registers, and mostly its shared memory, fill one
    CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, launch.device));
    cut_ = cut_for(this->size_, gauge_.planes, packing.words() * parts(), multiprocessors);
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  static double bytes_needed(const Problem& problem, const Packing& packing, int copies) {
    const double more = 2.0 * static_cast<double>(packing.spin_units()) +
                        4.0 * static_cast<double>(packing.coupling_units()) * (1 + 0.5 / problem.size);
    return Base::bytes_needed(problem, packing, copies) + sizeof(std::uint32_t) * more;
  }

  double bytes_per_flip() const override { return Kernel::bytes_per_flip; }

 protected:
  void launch_half_sweep(Colour colour) override { this->update_planes(colour, 0, this->size_ / 2, nullptr); }

  void update(std::int64_t half_sweeps) override {
    advance_in_passes(
        this->half_sweeps_done_, half_sweeps, [&](std::int64_t n) { Base::update(n); },
        [&](std::int64_t passes) {
          turn(false);
          for (std::int64_t n = 0; n < passes; ++n) this->pass();
          turn(true);
        });
  }

 private:
  using Kernel = PassKernel<units, bundles>;
  static constexpr int column_threads = 128;

  int parts() const { return this->packing_.replicas / Kernel::replicas; }
  dim3 columns_of_words() const {
    return {blocks_for(gauge_.flat(), column_threads), grid_samples(this->packing_.words())};
  }
  GaugedBonds<units> gauged() { return {{bonds_[red].data(), bonds_[blue].data()}, seam_.data()}; }

  void turn(bool back) {
    turn_spins<units, filling<units>><<<columns_of_words(), column_threads>>>(
        gauge_, this->words(), this->packing_.words(), this->packing_.bundles(), nullptr, this->spins_[red].data(),
        this->spins_[blue].data(), back);
    CHECK_CUDA(cudaGetLastError());
  }

  void pass() {
    const Packing& packing = this->packing_;
    const Pass pass{this->layout_,
                    0,
                    gauge_.planes,
                    0,
                    gauge_.planes,
                    cut_,
                    parts(),
                    packing.replicas,
                    packing.words(),
                    packing.words_per_group(),
                    origin(this->problem_),
                    this->half_sweeps_done_ / 2,
                    this->thresholds_,
                    {this->spins_[red].data(), this->spins_[blue].data()},
                    {others_[red].data(), others_[blue].data()}};
    Kernel::launch(pass, gauged(), nullptr);
    for (const Colour colour : {red, blue}) this->spins_[colour].swap(others_[colour]);
    this->half_sweeps_done_ += Tile::stages;
  }

  Gauge gauge_;
  Cut cut_;
  DeviceBuffer<std::uint32_t> others_[2];  ///< what a pass writes
  DeviceBuffer<BondsUp<units>> bonds_[2];  ///< in the gauge
  DeviceBuffer<Bonds<units>> seam_;
};

}  // namespace

double overlapped_steps(const Problem& problem, int samples_per_word, std::int64_t words, int multiprocessors) {
  const int units = samples_per_word / Packing::bits, planes = static_cast<int>(problem.size / 2);
  const int replicas_of_block = bundles_for(units, problem.replicas) * 4 / units;
  const std::int64_t systems = words * problem.replicas / replicas_of_block;
  return steps_of(cut_for(static_cast<int>(problem.size), planes, systems, multiprocessors), planes, systems,
                  multiprocessors);
}

std::unique_ptr<Simulation> make_overlapped(const Problem& problem, const Launch& launch) {
  return with_pass(*launch.samples_per_word / Packing::bits, problem.replicas, [&]<int units, int bundles>() {
    return make_multispin<OverlappedSimulation<units, bundles>>(problem, launch, filling<units>);
  });
}

}  // namespace psflip::PSFLIP_PLATFORM
