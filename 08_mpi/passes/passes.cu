// Stage 07's pass of two sweeps (kernels/overlapped) for a rank's slab.
//
// A pass over planes a .. b - 1 reads two planes more of both colours, at either end. So what is sent between passes is
// two planes of each colour, both ways, in place of one plane, one way, in each of four half-sweeps. The planes that
// are sent are marched through first, and travel while the middle is.

#include "08_mpi/passes/passes.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "07_amsc/kernels/overlapped/pass.hpp"
#include "07_amsc/kernels/overlapped/tile.hpp"
#include "07_amsc/kernels/wide.cuh"
#include "08_mpi/slab_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;
using amsc::Tile;

constexpr int halo = Tile::halo;  ///< planes that a pass of two sweeps needs at either end

/// An Exchange knows two directions, by the colour that goes there in the other engines.
constexpr Colour to_previous = red, to_next = blue;

/// Planes -halo .. planes + halo - 1 of a slab, of one colour.
template <class Element>
class DeepPlanes {
 public:
  DeepPlanes(const Slab& slab, std::int64_t rows)
      : area_(slab.area()), planes_(slab.planes), rows_(rows), elements_(static_cast<std::size_t>(rows) * pitch()) {}

  Element* data() { return elements_.data(); }

  /// The lowest two planes go to the rank before, into its halo above; the highest two to the next one.
  Planes planes() {
    Planes all{};
    all.width = sizeof(Element) * area_ * halo;
    all.pitch = sizeof(Element) * pitch();
    all.rows = rows_;
    const auto at = [&](int plane) { return data() + area_ * (halo + plane); };
    for (const Colour towards : {to_previous, to_next}) all.array[towards] = data();
    all.boundary[to_previous] = at(0);
    all.halo[to_previous] = at(planes_);
    all.boundary[to_next] = at(planes_ - halo);
    all.halo[to_next] = data();
    return all;
  }

 private:
  std::size_t pitch() const { return area_ * (planes_ + 2 * halo); }

  std::size_t area_, planes_;
  std::int64_t rows_;
  DeviceBuffer<Element> elements_;
};

void send_both_ways(Exchange& exchange, cudaStream_t stream) {
  for (const Colour towards : {to_previous, to_next}) {
    exchange.send(towards, stream);
    exchange.receive(towards, stream);
  }
}

/// As in stage 07, half-sweeps that do not fill passes, or are too few, are done by wide.cuh: here in the open.
template <int units, int bundles>
class PassesSimulation : public SlabSimulation<WidePlanes<prng::Philox<>, units, Slab>> {
  using Base = SlabSimulation<WidePlanes<prng::Philox<>, units, Slab>>;
  using Kernel = PassKernel<units, bundles>;
  using Element = Spins<units, filling<units>>;

 public:
  PassesSimulation(const Problem& problem, const Launch& launch, const Packing& packing, int copies, const Slab& slab)
      : Base(problem, launch, packing, copies, slab),
        gauge_{slab.size, slab.planes, slab.first + slab.planes == slab.size / 2, slab.planes + 1, {0, 1}, halo},
        spins_of_{{{slab, rows()}, {slab, rows()}}, {{slab, rows()}, {slab, rows()}}},
        bonds_{{slab, packing.words()}, {slab, packing.words()}},
        start_(static_cast<std::size_t>(packing.words() * slab.area())),
        seam_(start_.size()) {
    this->threads_ = column_threads;
    Kernel::prepare();
    CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, launch.device));
  }

  static double bytes_needed(const Problem& problem, const Packing& packing, int copies) {
    const double area = static_cast<double>(problem.size * problem.size), words = static_cast<double>(packing.words());
    const double deep = static_cast<double>(packing.half) + (2 * halo - 1) * area;  // a slab has one plane of halo
    return Base::bytes_needed(problem, packing, copies) + 4 * sizeof(Element) * words * packing.bundles() * deep +
           2 * words * (sizeof(BondsUp<units>) * deep + sizeof(Bonds<units>) * area);
  }

  void connect(Transport transport, const std::string& reason) override {
    Base::connect(transport, reason);
    find_signs();
    make_gauged_bonds<units><<<columns_of_words(), column_threads>>>(gauge_, this->words(), this->packing_.words(),
                                                                     start_.data(), gauged());
    CHECK_CUDA(cudaGetLastError());
    for (auto& bonds : bonds_) {
      const std::unique_ptr<Exchange> once = make_exchange(transport, bonds.planes());
      send_both_ways(*once, nullptr);
      CHECK_CUDA(cudaDeviceSynchronize());
    }
    for (int set = 0; set < 2; ++set)
      for (const Colour colour : {red, blue})
        exchanges_[set][colour] = make_exchange(transport, spins_of_[set][colour].planes());
  }

  double bytes_per_flip() const override { return Kernel::bytes_per_flip; }

 protected:
  void launch_half_sweep(Colour colour) override {
    this->update_planes(colour, this->layout_.first_plane(colour), this->layout_.planes, nullptr);
    this->exchange_->send(colour, nullptr);
    this->exchange_->receive(colour, nullptr);
  }

  void update(std::int64_t half_sweeps) override {
    advance_in_passes(
        this->half_sweeps_done_, half_sweeps, [&](std::int64_t n) { Base::update(n); },
        [&](std::int64_t passes) {
          turn(false);
          for (const Colour colour : {red, blue}) send_both_ways(*exchanges_[0][colour], nullptr);
          for (std::int64_t n = 0; n < passes; ++n) pass();
          turn(true);
        });
  }

 private:
  static constexpr int column_threads = 128;

  std::int64_t rows() const { return this->packing_.words() * this->packing_.bundles(); }
  dim3 columns_of_words() const {
    return {blocks_for(gauge_.flat(), column_threads), grid_samples(this->packing_.words())};
  }
  GaugedBonds<units> gauged() { return {{bonds_[red].data(), bonds_[blue].data()}, seam_.data()}; }

  /// The signs with which a column begins here are the parity of the bonds in all slabs below; the parity of all is the
  /// seam. Every rank passes on what it got, N - 1 times.
  void find_signs() {
    climb_columns<<<columns_of_words(), column_threads>>>(gauge_, this->words(), this->packing_.words(), seam_.data());
    CHECK_CUDA(cudaGetLastError());
    std::vector<Bonds<units>> own(seam_.size()), all, below(seam_.size()), next(seam_.size());
    seam_.copy_to_host(own.data());
    all = own;
    const auto add = [](std::vector<Bonds<units>>& sum, const std::vector<Bonds<units>>& more) {
      for (std::size_t i = 0; i < sum.size(); ++i)
        for (int unit = 0; unit < units; ++unit) sum[i].of[unit] ^= more[i].of[unit];
    };
    for (int distance = 1; distance < ranks().size(); ++distance) {
      ranks().exchange(own.data(), ranks().next(), next.data(), ranks().previous(), own.size() * sizeof own[0]);
      own.swap(next);
      add(all, own);
      if (distance <= ranks().rank()) add(below, own);
    }
    start_.copy_from_host(below.data());
    seam_.copy_from_host(all.data());
  }

  /// Spins into the gauge, or back, and then into the halos of the other engines.
  void turn(bool back) {
    const auto of = [&](Colour colour) { return reinterpret_cast<std::uint32_t*>(spins_of_[latest_][colour].data()); };
    turn_spins<units, filling<units>>
        <<<columns_of_words(), column_threads>>>(gauge_, this->words(), this->packing_.words(),
                                                 this->packing_.bundles(), start_.data(), of(red), of(blue), back);
    CHECK_CUDA(cudaGetLastError());
    if (back)
      for (const Colour colour : {red, blue}) {
        this->exchange_->send(colour, nullptr);
        this->exchange_->receive(colour, nullptr);
      }
    latest_ = 0;
  }

  /// From one set of spins to the other.
  void pass() {
    using Span = Timeline::Span;
    const int from = latest_, to = 1 - from, planes = gauge_.planes;
    const bool all_sent = planes < 2 * halo;  // there is no middle
    middle_done_.hold(ends_);                 // each reads what the other wrote in the pass before, and the reverse
    ends_done_.hold(middle_);
    {
      const Span ends(this->timeline_, "boundary", ends_);
      march(from, 0, all_sent ? planes : halo, ends_);
      if (!all_sent) march(from, planes - halo, planes, ends_);
      ends_done_.record(ends_);
    }
    if (planes > 2 * halo) {
      const Span middle(this->timeline_, "bulk", middle_);
      march(from, halo, planes - halo, middle_);
      middle_done_.record(middle_);
    }
    {
      const Span transfer(this->timeline_, "transfer", ends_);
      for (const Colour colour : {red, blue}) send_both_ways(*exchanges_[to][colour], ends_);
    }
    latest_ = to;
    this->half_sweeps_done_ += Tile::stages;
  }

  /// Planes begin .. end - 1 of the slab.
  void march(int from, int begin, int end, cudaStream_t stream) {
    const Packing& packing = this->packing_;
    const Slab& slab = this->layout_;
    const int parts = packing.replicas / Kernel::replicas, to = 1 - from;
    const Pass pass{{slab.size, slab.size},
                    slab.first + begin,
                    slab.first + end,
                    slab.first - halo,
                    slab.planes + 2 * halo,
                    cut_for(slab.size, end - begin, packing.words() * parts, multiprocessors_),
                    parts,
                    packing.replicas,
                    packing.words(),
                    packing.words_per_group(),
                    origin(this->problem_),
                    this->half_sweeps_done_ / 2,
                    this->thresholds_,
                    {spins_of_[from][red].data(), spins_of_[from][blue].data()},
                    {spins_of_[to][red].data(), spins_of_[to][blue].data()}};
    Kernel::launch(pass, gauged(), stream);
  }

  Gauge gauge_;
  DeepPlanes<Element> spins_of_[2][2];         ///< in the gauge: two sets, [colour]
  DeepPlanes<BondsUp<units>> bonds_[2];        ///< likewise
  DeviceBuffer<Bonds<units>> start_, seam_;    ///< signs, [word][column]
  std::unique_ptr<Exchange> exchanges_[2][2];  ///< of the sets, [colour]; before they go
  int latest_ = 0;                             ///< set
  int multiprocessors_ = 0;
  Stream ends_{true}, middle_{false};
  Event ends_done_, middle_done_;
};

}  // namespace

bool can_pass(const Problem& problem, int samples_per_word, int device, int ranks) {
  const std::int64_t all = problem.size / 2, most = (all - 1) / ranks + 1 + 2 * halo;  // planes of the tallest slab
  return all / ranks >= halo && problem.size * problem.size * most <= std::numeric_limits<int>::max() &&
         can_march(problem, samples_per_word, device);
}

std::unique_ptr<Simulation> make_passes(const Problem& problem, const Launch& launch, const Slab& slab) {
  return with_pass(*launch.samples_per_word / Packing::bits, problem.replicas, [&]<int units, int bundles>() {
    return make_slab<PassesSimulation<units, bundles>>(problem, launch, filling<units>, slab);
  });
}

}  // namespace psflip::PSFLIP_PLATFORM
