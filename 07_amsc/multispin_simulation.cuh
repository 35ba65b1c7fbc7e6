/// What the engines of this stage have in common: bit-packed spins and couplings on the device, in the sliced layout of
/// stage 05, the streams of stage 06, and observables that are counted where the spins are.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "05_sliced/sliced.hpp"
#include "06_prng/generators/draws.hpp"
#include "06_prng/generators/with_generator.hpp"
#include "07_amsc/multispin.hpp"
#include "07_amsc/observe/observe.hpp"
#include "07_amsc/tempering/exchange.hpp"
#include "spin_glass/engine/device_simulation.cuh"
#include "spin_glass/engine/launches.hpp"
#include "spin_glass/engine/simulation.hpp"

namespace psflip::PSFLIP_PLATFORM {

using amsc::Packing;
using spin_glass::ReplicaThresholds;
using spin_glass::Sliced;

/// What the kernels take of an engine's arrays; index 0 are the red spins.
struct Words32 {
  std::uint32_t* spins[2];
  const std::uint32_t* couplings[spin_glass::directions];  ///< of the red sites
};

/// An engine: of all sites, or of those of a part of the lattice, which stage 08 gives to a rank.
template <class Prng, class Layout = Sliced>
class MultispinSimulation : public DeviceSimulation<Layout, Prng, Packing>, public spin_glass::Observing {
 public:
  /// `copies`: how often every stream is stored, for threads that share its numbers.
  MultispinSimulation(const spin_glass::Problem& problem, const spin_glass::Launch& launch, const Packing& packing,
                      int copies, const Layout& layout)
      : DeviceSimulation<Layout, Prng, Packing>(problem, launch, layout, CouplingsOf::red, packing, copies) {}

  MultispinSimulation(const spin_glass::Problem& problem, const spin_glass::Launch& launch, const Packing& packing,
                      int copies) requires std::same_as<Layout, Sliced>
      : MultispinSimulation(problem, launch, packing, copies,
                            Sliced{static_cast<int>(problem.size), static_cast<int>(problem.size)}) {}

  static double bytes_needed(const spin_glass::Problem& problem, const Packing& packing, int copies) {
    return PSFLIP_PLATFORM::bytes_needed<Prng>(problem, CouplingsOf::red, packing, copies);
  }

  void take_state(const spin_glass::TakeSpins& take) const override { this->take_lattices(take); }

  std::optional<std::vector<spin_glass::SampleObservables>> observe(bool correlations) const override {
    CHECK_CUDA(cudaSetDevice(this->launch_.device));
    return observe_packed(this->packing_, arrays(), this->size_, correlations);
  }

 protected:
  void count_unsatisfied(DeviceBuffer<Sum>& unsatisfied) override {
    if constexpr (std::same_as<Layout, Sliced>)  // a part of a lattice counts its part
      count_unsatisfied_packed(this->packing_, arrays(), this->layout_, unsatisfied.data());
  }
  void decide_exchanges(const spin_glass::Decisions& decisions, std::uint32_t* masks) override {
    decide_packed(this->packing_, decisions, masks);
  }
  void swap_replicas(const std::uint32_t* masks) override {
    swap_packed(this->packing_, {this->spins_[0].data(), this->spins_[1].data()}, masks);
  }
  Words32 words() {
    Words32 all{{this->spins_[0].data(), this->spins_[1].data()}, {}};
    for (int d = 0; d < spin_glass::directions; ++d) all.couplings[d] = this->couplings_[spin_glass::red][d].data();
    return all;
  }
  amsc::PackedArrays arrays() const {
    amsc::PackedArrays all{{this->spins_[0].data(), this->spins_[1].data()}, {}};
    for (int d = 0; d < spin_glass::directions; ++d) all.couplings[d] = this->couplings_[spin_glass::red][d].data();
    return all;
  }
  /// Where the streams of a colour stand before its next half-sweep. What is a sample in stage 06 is a word here.
  StreamTable draws(Colour colour) {
    const std::int64_t n = this->draws_done();
    return {this->states(colour), origin(this->problem_), this->packing_.words_per_group(), n, slot_of<Prng>(n)};
  }
};

/// An Engine, a MultispinSimulation, for the problem.
template <class Engine>
std::unique_ptr<spin_glass::Simulation> make_multispin(const spin_glass::Problem& problem,
                                                       const spin_glass::Launch& launch, int interleaved,
                                                       int copies = 1) {
  const Packing packing = amsc::packing(problem, *launch.samples_per_word, interleaved);
  refuse_large_problem(problem, launch, Engine::bytes_needed(problem, packing, copies));
  return std::make_unique<Engine>(problem, launch, packing, copies);
}

}  // namespace psflip::PSFLIP_PLATFORM
