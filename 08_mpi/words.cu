// One system on many GPUs: philox-planes, 32 sites in a word (07_amsc/synchronous).
//
// A site takes one bit in each replica, and six for its bonds: the largest lattice, L = 1624, is 6 GB with four
// replicas. So every rank has room for all of it, and only the work is divided. A rank updates the planes of its slab,
// where they lie in the whole lattice. What they look at besides is one plane of a colour, which comes into its place
// after each half-sweep. Whoever wants to see the lattice brings all planes to rank 0.
//
// A plane is L^2 / 8 bytes per replica, a 32nd of what it is for words of samples. It is sent when all are updated, and
// the next half-sweep waits for it: simple, and nothing is hidden.

#include "07_amsc/synchronous/dice.hpp"
#include "07_amsc/synchronous/system_simulation.cuh"
#include "07_amsc/synchronous/word_update.cuh"
#include "08_mpi/engine.hpp"
#include "08_mpi/exchange/exchange.hpp"
#include "08_mpi/timeline.hpp"
#include "08_mpi/update.hpp"
#include "gpu/constants.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;
using amsc::Dice;

struct HalfSweep {
  Systems systems;
  Colour colour;
  int first;  ///< plane
  std::uint32_t sweep;
  Dice dice;
  std::uint32_t* own;           ///< spins of the colour
  const std::uint32_t* others;  ///< of the other one
  const std::uint32_t* bonds;   ///< of the colour
};

/// Updates the planes first + blockIdx.y. A thread takes a word in the systems blockIdx.z, + gridDim.z, ...
template <int together>
__global__ void __launch_bounds__(512) update_words(const __grid_constant__ HalfSweep half) {
  const Systems& systems = half.systems;
  const amsc::SiteWords& words = systems.words;
  const Sliced& layout = words.layout;
  const int in_plane = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (in_plane >= layout.row * layout.size) return;  // whole blocks cover a plane
  const int i = in_plane + layout.row * layout.size * (half.first + static_cast<int>(blockIdx.y));
  const Place place = layout.place(i);
  const Neighbours neighbours = layout.neighbours(half.colour, place);

  for (std::int64_t system = blockIdx.z; system < systems.count(); system += gridDim.z) {
    const std::int64_t sample = system / systems.parts(), lattice = system * words.count();
    const auto first_replica = static_cast<std::uint32_t>(system % systems.parts() * together);
    std::uint32_t accepted[amsc::costs][together], bonds[directions];
    amsc::throw_dice<amsc::costs>(half.dice,
                                  {static_cast<std::uint32_t>(half.colour * words.count() + i), first_replica,
                                   half.sweep, static_cast<std::uint32_t>(sample)},
                                  words.all(), accepted);
    Words<together> around[directions], spins = reinterpret_cast<const Words<together>*>(half.own)[lattice + i];
#pragma unroll
    for (int d = 0; d < directions; ++d) {
      bonds[d] = half.bonds[systems.bonds(sample, i) + d * Systems::step];
      around[d] = reinterpret_cast<const Words<together>*>(half.others)[lattice + neighbours.to[d]];
    }
    const InRow in_row{place.x == 0, place.x == layout.row - 1, words.bits, words.all()};
    reinterpret_cast<Words<together>*>(half.own)[lattice + i] = updated<false>(spins, around, bonds, accepted, in_row);
  }
}

Launch with_replicas_together(const Problem& problem, Launch launch) {
  launch.replicas_together = problem.replicas % 4 == 0 ? 4 : problem.replicas % 2 == 0 ? 2 : 1;
  return launch;
}

/// A SystemSimulation of the whole lattice, which is up to date in the planes of the slab and in those beside it.
class WordsSimulation : public SystemSimulation, public Ranked {
 public:
  WordsSimulation(const Problem& problem, const Launch& launch, const Slab& slab)
      : SystemSimulation(problem, launch),
        slab_(slab),
        dice_(origin(problem), thresholds(problem.beta, problem.generator)) {}

  void connect(Transport transport, const std::string& reason) override {
    launch_.transport = transport;
    exchange_ = make_exchange(transport, planes());
    for (const Colour colour : {red, blue}) exchange(colour);  // what it opens, it opens now; planes stay as they are
    CHECK_CUDA(cudaDeviceSynchronize());
    remark_ = remark_of(transport, reason);
  }
  std::string remark() const override { return remark_; }
  Launch launch() const override {  // how many replicas are together is nobody's choice here
    Launch launch = launch_;
    launch.replicas_together.reset();
    return launch;
  }
  void record() override { timeline_.start(); }
  std::vector<Part> recorded() override { return timeline_.stop(); }

  double advance(std::int64_t half_sweeps) override { return ranks().most(SystemSimulation::advance(half_sweeps)); }

  /// Calls `take` on rank 0.
  void take_state(const TakeSpins& take) const override {
    gather_planes();
    if (ranks().rank() == 0) SystemSimulation::take_state(take);
  }
  /// On rank 0; elsewhere there is nothing.
  std::optional<std::vector<SampleObservables>> observe(bool correlations) const override {
    gather_planes();
    if (ranks().rank() != 0) return std::nullopt;
    return SystemSimulation::observe(correlations);
  }
  /// From what rank 0 has.
  void resume(std::int64_t half_sweeps, const State& state, const GiveWord& give) override {
    State whole = state;
    if (ranks().rank() != 0)
      whole = {size_, problem_.samples, problem_.replicas,
               std::vector<Spin>(problem_.samples * problem_.replicas * sites(problem_))};
    else
      check_resumed(problem_, half_sweeps, state);
    ranks().broadcast(whole.spins.data(), whole.spins.size());
    SystemSimulation::resume(half_sweeps, whole, give);
  }

 protected:
  void update(std::int64_t half_sweeps) override {
    for (std::int64_t h = half_sweeps_done_; h < half_sweeps_done_ + half_sweeps; ++h) {
      const auto colour = static_cast<Colour>(h % 2);
      {
        const Timeline::Span bulk(timeline_, "bulk", nullptr);
        with_constant<1, 2, 4>(systems_.together, [&]<int together>() { launch_words<together>(colour, h / 2); });
      }
      const Timeline::Span transfer(timeline_, "transfer", nullptr);
      exchange(colour);
    }
  }

 private:
  void exchange(Colour colour) {
    if (ranks().size() == 1) return;  // its own neighbour, in the same place
    exchange_->send(colour, nullptr);
    exchange_->receive(colour, nullptr);
  }

  template <int together>
  void launch_words(Colour colour, std::int64_t sweep) {
    const int threads = *launch_.threads;
    const auto systems = static_cast<unsigned>(std::min<std::int64_t>(systems_.count(), 65535));
    update_words<together><<<dim3(blocks_for(words_of_plane(), threads), slab_.planes, systems), threads>>>(
        HalfSweep{systems_, colour, slab_.first, static_cast<std::uint32_t>(sweep), dice_, spins_[colour].data(),
                  spins_[other(colour)].data(), bonds_[colour].data()});
    CHECK_CUDA(cudaGetLastError());
  }

  int words_of_plane() const { return systems_.words.layout.row * size_; }
  std::size_t bytes_of_plane() const { return sizeof(std::uint32_t) * systems_.together * words_of_plane(); }

  /// Of the whole lattice: the first red plane of a slab goes to the rank before, the last blue one to the next.
  Planes planes() {
    const int all = size_ / 2, past = (slab_.first + slab_.planes) % all, before = (slab_.first + all - 1) % all;
    const auto at = [&](Colour colour, int plane) {
      return reinterpret_cast<std::byte*>(spins_[colour].data()) + bytes_of_plane() * plane;
    };
    Planes planes{};
    planes.width = bytes_of_plane();
    planes.pitch = bytes_of_plane() * all;
    planes.rows = static_cast<std::size_t>(systems_.count());
    for (const Colour colour : {red, blue}) planes.array[colour] = spins_[colour].data();
    planes.boundary[red] = at(red, slab_.first);
    planes.halo[red] = at(red, past);
    planes.boundary[blue] = at(blue, slab_.first + slab_.planes - 1);
    planes.halo[blue] = at(blue, before);
    return planes;
  }

  /// Brings rank 0's lattice up to date.
  void gather_planes() const {
    if (ranks().size() == 1) return;
    CHECK_CUDA(cudaSetDevice(launch_.device));
    const bool root = ranks().rank() == 0;
    const std::size_t plane = bytes_of_plane(), lattice = plane * (size_ / 2);
    std::vector<int> planes;
    for (int r = 0; r < ranks().size(); ++r) planes.push_back(Slab::of(r, ranks().size(), size_).planes);
    std::vector<std::byte> own(plane * slab_.planes), whole(root ? lattice : 0);
    for (const DeviceBuffer<std::uint32_t>& spins : spins_) {
      // It says what this lattice is, and does not change it.
      auto* const bytes = reinterpret_cast<std::byte*>(const_cast<std::uint32_t*>(spins.data()));
      for (std::int64_t system = 0; system < systems_.count(); ++system) {
        std::byte* const here = bytes + lattice * system;
        CHECK_CUDA(cudaMemcpy(own.data(), here + plane * slab_.first, own.size(), cudaMemcpyDeviceToHost));
        ranks().gather(own.data(), whole.data(), planes, plane, 0);
        if (root) CHECK_CUDA(cudaMemcpy(here, whole.data(), lattice, cudaMemcpyHostToDevice));
      }
    }
  }

  Slab slab_;
  Dice dice_;
  std::unique_ptr<Exchange> exchange_;
  Timeline timeline_;
  std::string remark_;
};

}  // namespace

std::unique_ptr<Simulation> make_words(const Problem& problem, const Launch& wish, const Slab& slab) {
  const Launch launch = with_replicas_together(problem, wish);
  refuse_large_problem(problem, launch, SystemSimulation::bytes_needed(problem, launch));
  return std::make_unique<WordsSimulation>(problem, launch, slab);
}

}  // namespace psflip::PSFLIP_PLATFORM
