/// What an engine of this stage is besides its kernels: what all ranks do together when the whole lattice is asked for.
/// All members are collective.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "07_amsc/multispin_simulation.cuh"
#include "08_mpi/engine.hpp"
#include "08_mpi/exchange/exchange.hpp"
#include "08_mpi/observe.hpp"
#include "08_mpi/ranks/ranks.hpp"
#include "08_mpi/slab.hpp"
#include "08_mpi/timeline.hpp"

namespace psflip::PSFLIP_PLATFORM {

using spin_glass::Slab;

/// Base is a MultispinSimulation of a rank's slab.
template <class Base>
class SlabSimulation : public Base, public Ranked {
 public:
  using Base::Base;

  void connect(spin_glass::Transport transport, const std::string& reason) override {
    this->launch_.transport = transport;
    exchange_ = make_exchange(transport, planes());
    for (const Colour colour :
         {spin_glass::red, spin_glass::blue}) {  // what it opens, it opens now; halos stay as they are
      exchange_->send(colour, nullptr);
      exchange_->receive(colour, nullptr);
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    remark_ = remark_of(transport, reason);
  }
  std::string remark() const override { return remark_; }
  void record() override { timeline_.start(); }
  std::vector<Part> recorded() override { return timeline_.stop(); }

  /// The seconds of the slowest rank.
  double advance(std::int64_t half_sweeps) override { return ranks().most(Base::advance(half_sweeps)); }

  /// Calls `take` on rank 0.
  void take_state(const spin_glass::TakeSpins& take) const override {
    this->take_lattices([&](std::span<spin_glass::Spin> part) {
      ranks().add(part);  // a spin is 0 on all ranks but one
      if (is_root()) take(part);
    });
  }

  /// On rank 0; elsewhere they are a part.
  std::optional<std::vector<spin_glass::SampleObservables>> observe(bool correlations) const override {
    CHECK_CUDA(cudaSetDevice(this->launch_.device));
    auto samples = observe_slab(this->packing_, this->arrays(), this->layout_);
    if (correlations && !add_correlations(samples)) return std::nullopt;
    for (spin_glass::SampleObservables& sample : samples)
      for (auto* numbers : {&sample.energies, &sample.magnetisations, &sample.overlaps, &sample.correlations,
                            &sample.links, &sample.planes})
        ranks().add(*numbers);
    return samples;
  }

  /// Calls `take` on rank 0.
  void save_streams(const spin_glass::TakeWord& take) const override {
    std::vector<std::uint32_t> all;
    Base::save_streams([&](std::span<const std::uint32_t> word) {
      all.assign(word.begin(), word.end());
      ranks().add(std::span(all));
      if (is_root()) take(all);
    });
  }

  /// From what rank 0 has.
  void resume(std::int64_t half_sweeps, const spin_glass::State& state, const spin_glass::GiveWord& give) override {
    if (is_root()) check_resumed(this->problem_, half_sweeps, state);
    if (this->tempering_) {
      spin_glass::Exchanges exchanges = state.exchanges;
      for (auto* numbers : {&exchanges.accepted, &exchanges.walkers}) {
        numbers->resize(this->problem_.samples * this->problem_.replicas);
        ranks().broadcast(numbers->data(), numbers->size() * sizeof(std::uint32_t));
      }
      this->tempering_->resume(exchanges);
    }
    this->put_lattices([&](std::int64_t first, std::span<spin_glass::Spin> part) {
      if (is_root()) std::copy_n(state.spins.begin() + first * sites(this->problem_), part.size(), part.begin());
      ranks().broadcast(part.data(), part.size_bytes());
    });
    this->put_streams(half_sweeps, [&](std::span<std::uint32_t> word) {
      if (is_root()) give(word);
      ranks().broadcast(word.data(), word.size_bytes());
    });
  }

 protected:
  /// Of the whole lattice, so that all ranks decide alike.
  void count_unsatisfied(DeviceBuffer<Sum>& unsatisfied) override {
    CHECK_CUDA(cudaDeviceSynchronize());  // half-sweeps have streams of their own
    count_unsatisfied_slab(this->packing_, this->arrays(), this->layout_, unsatisfied.data());
    std::vector<Sum> sums(unsatisfied.size());
    unsatisfied.copy_to_host(sums.data());
    ranks().add(std::span(reinterpret_cast<std::int64_t*>(sums.data()), sums.size()));
    ranks().broadcast(sums.data(), sums.size() * sizeof(Sum));
    unsatisfied.copy_from_host(sums.data());
  }
  /// Halos, too: their owners swap the same. Nobody may write into a halo that is not swapped yet.
  void swap_replicas(const std::uint32_t* masks) override {
    Base::swap_replicas(masks);
    CHECK_CUDA(cudaDeviceSynchronize());
    ranks().wait_for_all();
  }

  Planes planes() {
    const Packing& packing = this->packing_;
    const Slab& slab = this->layout_;
    const std::size_t element = sizeof(std::uint32_t) * packing.units * packing.interleaved;
    Planes all{};
    all.width = element * slab.area();
    all.pitch = element * slab.elements();
    all.rows = packing.words() * packing.bundles();
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      auto* const spins = reinterpret_cast<std::byte*>(this->words().spins[colour]);
      all.array[colour] = spins;
      all.boundary[colour] = spins + all.width * slab.boundary(colour);
      all.halo[colour] = spins + all.width * slab.halo(colour);
    }
    return all;
  }

  std::unique_ptr<Exchange> exchange_;
  Timeline timeline_;

 private:
  static bool is_root() { return ranks().rank() == 0; }

  /// Sites that are far apart are on different ranks. So each word of samples is brought to one of them, all planes of
  /// it, in turn, and counted there as in stage 07. False if the device cannot.
  bool add_correlations(std::vector<spin_glass::SampleObservables>& samples) const {
    const Packing& packing = this->packing_;
    const int size = this->size_, all_planes = size / 2, N = ranks().size();
    Packing one = packing;  // a word in a lattice that is whole
    one.half = std::int64_t{size} * size * all_planes;
    one.samples = one.samples_per_stream = Packing::bits * packing.units;
    const std::size_t plane = sizeof(std::uint32_t) * packing.units * packing.interleaved * this->layout_.area();
    std::vector<int> planes(N);
    for (int r = 0; r < N; ++r) planes[r] = Slab::of(r, N, size).planes;

    std::vector<std::byte> own(plane * this->layout_.planes);
    std::vector<std::byte> whole;
    DeviceBuffer<std::uint32_t> lattice[2];
    const std::size_t distances =
        spin_glass::distances(size) * spin_glass::overlaps(packing.replicas, packing.temperatures);
    for (spin_glass::SampleObservables& sample : samples) sample.correlations.assign(distances, 0);
    bool possible = true;
    for (std::int64_t word = 0; word < packing.words(); ++word) {
      const int owner = static_cast<int>(word % N);
      const bool mine = ranks().rank() == owner;
      if (mine && whole.empty()) {
        whole.resize(plane * all_planes);
        for (auto& spins : lattice) spins = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(one.spin_units()));
      }
      for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
        for (int bundle = 0; bundle < packing.bundles(); ++bundle) {
          const auto* spins =
              this->arrays().spins[colour] +
              packing.spin(word * packing.units, bundle * packing.interleaved, this->layout_.first_owned(colour));
          CHECK_CUDA(cudaMemcpy(own.data(), spins, own.size(), cudaMemcpyDeviceToHost));
          ranks().gather(own.data(), whole.data(), planes, plane, owner);
          if (mine)
            CHECK_CUDA(cudaMemcpy(lattice[colour].data() + one.spin(0, bundle * packing.interleaved, 0), whole.data(),
                                  whole.size(), cudaMemcpyHostToDevice));
        }
      }
      if (!mine) continue;
      const auto found = observe_packed(one, {{lattice[0].data(), lattice[1].data()}, {}}, size, true);
      possible = possible && found.has_value();
      for (std::int64_t unit = word * packing.units; found && unit < (word + 1) * packing.units; ++unit)
        for (int bit = 0; bit < packing.samples_in(unit); ++bit)
          samples[packing.first_sample(unit) + bit].correlations =
              (*found)[(unit - word * packing.units) * Packing::bits + bit].correlations;
    }
    return ranks().most(possible ? 0 : 1) == 0;
  }

  std::string remark_;
};

/// An Engine, a SlabSimulation, for a rank. Not collective.
template <class Engine>
std::unique_ptr<spin_glass::Simulation> make_slab(const spin_glass::Problem& problem, const spin_glass::Launch& launch,
                                                  int interleaved, const Slab& slab) {
  Packing packing = amsc::packing(problem, *launch.samples_per_word, interleaved);
  packing.half = slab.elements();
  refuse_large_problem(problem, launch, Engine::bytes_needed(problem, packing, 1));
  return std::make_unique<Engine>(problem, launch, packing, 1, slab);
}

}  // namespace psflip::PSFLIP_PLATFORM
