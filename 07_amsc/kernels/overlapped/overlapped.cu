// Two sweeps in one pass over memory, for lattices that do not fit on the chip. march.cuh is the kernel; here is the
// engine around it: the gauge, two sets of spins that change places, and how a lattice is cut.

#include <cmath>

#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/kernels/overlapped/march.cuh"
#include "07_amsc/kernels/wide.cuh"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;
using amsc::Tile;

template <class Prng, int units, int bundles>
__global__ void __launch_bounds__(amsc::Tile::threads)
    update_overlapped(const Pass pass, const GaugedBonds<units> bonds) {
  extern __shared__ uint4 memory[];
  __shared__ RowBarriers::Memory barriers;
  if (threadIdx.x == 0) RowBarriers::begin(barriers);
  __syncthreads();
  March<Prng, units, bundles>(pass, bonds, memory, barriers).run();
}

/// Steps that a device takes for a pass: a wave of blocks after the other, and a block takes three more than it has
/// planes.
double steps_of(const Cut& cut, int size, std::int64_t systems, int blocks_at_once) {
  const auto blocks = static_cast<double>(systems * cut.tiles_x * cut.tiles_y * cut.chunks);
  return std::ceil(blocks / blocks_at_once) * ((size / 2 - 1) / cut.chunks + 1 + 3);
}

/// Chunks of planes, so that few multiprocessors are idle in the last wave of blocks.
Cut cut_for(int size, std::int64_t systems, int blocks_at_once) {
  Cut cut{(size - 1) / Tile::columns + 1, (size - 1) / Tile::rows + 1, 1, 0};
  cut.rows = (size - 1) / cut.tiles_y + 1;
  const int planes = size / 2, shortest = 8;
  for (Cut other = cut; planes / other.chunks >= shortest; ++other.chunks)
    if (steps_of(other, size, systems, blocks_at_once) < 0.995 * steps_of(cut, size, systems, blocks_at_once))
      cut = other;
  return cut;
}

/// Of 16 bytes, that a block has of a word.
int bundles_for(int units, std::int64_t replicas) { return units == 2 && replicas % 4 == 0 ? 2 : 1; }

/// Begins and ends with half-sweeps of wide.cuh where they do not fill passes, or are too few to be worth the gauge.
template <class Prng, int units, int bundles>
class OverlappedSimulation : public WidePlanes<Prng, units> {
 public:
  OverlappedSimulation(const Problem& problem, const Launch& launch, const Packing& packing, int copies)
      : WidePlanes<Prng, units>(problem, launch, packing, copies) {
    this->threads_ = column_threads;
    for (auto& spins : others_) spins = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(packing.spin_units()));
    for (auto& bonds : bonds_)
      bonds = DeviceBuffer<BondsUp<units>>(static_cast<std::size_t>(packing.coupling_units() / units));
    seam_ = DeviceBuffer<Bonds<units>>(static_cast<std::size_t>(packing.words() * flat()));
    make_gauged_bonds<<<columns_of_words(), column_threads>>>(this->layout_, this->words(), packing.words(), gauged());
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    int multiprocessors = 0;  // a block's registers, and mostly its shared memory, fill one
    CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, launch.device));
    cut_ = cut_for(this->size_, packing.words() * parts(), multiprocessors);
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  static double bytes_needed(const Problem& problem, const Packing& packing, int copies) {
    const double more = 2.0 * static_cast<double>(packing.spin_units()) +
                        4.0 * static_cast<double>(packing.coupling_units()) * (1 + 0.5 / problem.size);
    return WidePlanes<Prng, units>::bytes_needed(problem, packing, copies) + sizeof(std::uint32_t) * more;
  }

  double bytes_per_flip() const override {
    // For two flips of a word: spins in and out, and two bonds for all replicas of a block.
    return (2 + 2.0 / replicas) * sizeof(std::uint32_t) / Packing::bits / Tile::sweeps;
  }

 protected:
  void launch_half_sweep(Colour colour) override { this->update_planes(colour, 0, this->size_ / 2, nullptr); }

  void update(std::int64_t half_sweeps) override {
    const std::int64_t end = this->half_sweeps_done_ + half_sweeps, odd = this->half_sweeps_done_ % 2;
    const std::int64_t passes = (half_sweeps - odd) / Tile::stages;
    if (passes >= fewest_passes) {
      WidePlanes<Prng, units>::update(odd);
      turn();
      for (std::int64_t done = 0; done < passes; ++done) this->pass();
      turn();
    }
    WidePlanes<Prng, units>::update(end - this->half_sweeps_done_);
  }

 private:
  static constexpr int interleaved = filling<units>, replicas = bundles * interleaved;
  static constexpr int bytes = static_cast<int>(Tile::bytes(units, bundles));
  static constexpr auto kernel = update_overlapped<Prng, units, bundles>;
  static constexpr int column_threads = 128;
  static constexpr int fewest_passes = 3;  // into the gauge and out of it is as much traffic as nearly two passes

  int flat() const { return this->size_ * this->size_; }
  int parts() const { return this->packing_.replicas / replicas; }
  dim3 columns_of_words() const { return {blocks_for(flat(), column_threads), grid_samples(this->packing_.words())}; }
  GaugedBonds<units> gauged() { return {{bonds_[red].data(), bonds_[blue].data()}, seam_.data()}; }

  void turn() {
    turn_spins<units, interleaved><<<columns_of_words(), column_threads>>>(
        this->layout_, this->words(), this->packing_.words(), this->packing_.bundles());
    CHECK_CUDA(cudaGetLastError());
  }

  void pass() {
    const Packing& packing = this->packing_;
    const Pass pass{this->layout_,
                    cut_,
                    parts(),
                    packing.replicas,
                    packing.words_per_group(),
                    origin(this->problem_),
                    this->half_sweeps_done_ / 2,
                    this->thresholds_,
                    {this->spins_[red].data(), this->spins_[blue].data()},
                    {others_[red].data(), others_[blue].data()}};
    const auto blocks = static_cast<unsigned>(packing.words() * parts() * cut_.tiles_x * cut_.tiles_y * cut_.chunks);
    kernel<<<blocks, Tile::threads, bytes>>>(pass, gauged());
    CHECK_CUDA(cudaGetLastError());
    for (const Colour colour : {red, blue}) this->spins_[colour].swap(others_[colour]);
    this->half_sweeps_done_ += Tile::stages;
  }

  Cut cut_;
  DeviceBuffer<std::uint32_t> others_[2];  ///< what a pass writes
  DeviceBuffer<BondsUp<units>> bonds_[2];  ///< in the gauge
  DeviceBuffer<Bonds<units>> seam_;
};

}  // namespace

std::size_t overlapped_bytes(int samples_per_word, std::int64_t replicas) {
  const int units = samples_per_word / Packing::bits;
  return Tile::bytes(units, bundles_for(units, replicas));
}

double overlapped_steps(const Problem& problem, int samples_per_word, std::int64_t words, int multiprocessors) {
  const int units = samples_per_word / Packing::bits, size = static_cast<int>(problem.size);
  const int replicas_of_block = bundles_for(units, problem.replicas) * 4 / units;
  const std::int64_t systems = words * problem.replicas / replicas_of_block;
  return steps_of(cut_for(size, systems, multiprocessors), size, systems, multiprocessors);
}

std::unique_ptr<Simulation> make_overlapped(const Problem& problem, const Launch& launch) {
  return with_constant<1, 2, 4>(
      *launch.samples_per_word / Packing::bits, [&]<int units>() -> std::unique_ptr<Simulation> {
        if (bundles_for(units, problem.replicas) == 2)
          return make_multispin<OverlappedSimulation<prng::Philox<>, units, units == 2 ? 2 : 1>>(problem, launch,
                                                                                                 filling<units>);
        return make_multispin<OverlappedSimulation<prng::Philox<>, units, 1>>(problem, launch, filling<units>);
      });
}

}  // namespace psflip::PSFLIP_PLATFORM
