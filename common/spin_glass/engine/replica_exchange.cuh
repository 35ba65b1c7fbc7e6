/// Replica exchange on a device (spin_glass/model/exchange.hpp): energies are counted, each sample decides for itself,
/// and the spins of those that go change places under masks. How, depends on where the spins are; here are lattices of
/// bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/device_buffer.hpp"
#include "spin_glass/model/exchange.hpp"
#include "spin_glass/model/geometry.hpp"
#include "spin_glass/model/problem.hpp"
#include "spin_glass/model/state.hpp"

namespace psflip::PSFLIP_PLATFORM {

using Sum = unsigned long long;  // what atomicAdd takes

/// What an engine keeps for its exchanges.
template <class Packing>
class ReplicaExchange {
 public:
  using Unit = typename Packing::Unit;

  ReplicaExchange(const spin_glass::Problem& problem, const Packing& packing)
      : problem_(problem), first_walkers_(spin_glass::first_walkers(problem)) {
    const spin_glass::ExchangeThresholds thresholds(problem);
    thresholds_ = copy_of(thresholds.of.empty() ? std::vector<std::uint64_t>(1) : thresholds.of);
    first_ = copy_of(thresholds.first);
    const auto units = static_cast<std::size_t>(packing.words() * packing.units * packing.replicas);
    unsatisfied_ = DeviceBuffer<Sum>(units * Packing::bits);
    masks_ = DeviceBuffer<Unit>(units);
    restart();
  }

  void restart() {
    walkers_ = copy_of(first_walkers_);
    accepted_ = copy_of(std::vector<std::uint32_t>(first_walkers_.size()));
  }
  void resume(const spin_glass::Exchanges& exchanges) {
    walkers_ = copy_of(exchanges.walkers);
    accepted_ = copy_of(exchanges.accepted);
  }
  spin_glass::Exchanges state() const {
    spin_glass::Exchanges result;
    result.accepted.resize(accepted_.size());
    result.walkers.resize(walkers_.size());
    accepted_.copy_to_host(result.accepted.data());
    walkers_.copy_to_host(result.walkers.data());
    return result;
  }

  /// Of every unit, replica and bit, to be counted: 0 now.
  DeviceBuffer<Sum>& unsatisfied() {
    CHECK_CUDA(cudaMemset(unsatisfied_.data(), 0, unsatisfied_.bytes()));
    return unsatisfied_;
  }
  /// What a kernel takes to decide exchange number e from what was counted.
  spin_glass::Decisions decisions(std::int64_t e) {
    return {{thresholds_.data(), first_.data()},
            origin(problem_),
            e,
            static_cast<int>(temperatures(problem_)),
            sites(problem_),
            unsatisfied_.data(),
            accepted_.data(),
            walkers_.data()};
  }
  /// masks[unit * replicas + replica], the samples in which a replica changes places with the next: none now.
  Unit* masks() {
    CHECK_CUDA(cudaMemset(masks_.data(), 0, masks_.bytes()));
    return masks_.data();
  }

 private:
  template <class T>
  static DeviceBuffer<T> copy_of(const std::vector<T>& values) {
    DeviceBuffer<T> buffer(values.size());
    buffer.copy_from_host(values.data());
    return buffer;
  }

  spin_glass::Problem problem_;
  std::vector<std::uint32_t> first_walkers_;
  DeviceBuffer<std::uint64_t> thresholds_;
  DeviceBuffer<std::int64_t> first_;
  DeviceBuffer<Sum> unsatisfied_;
  DeviceBuffer<Unit> masks_;
  DeviceBuffer<std::uint32_t> accepted_, walkers_;
};

// ---- Lattices of bytes

struct ByteLattices {
  std::uint8_t* spins[2];
  const std::uint8_t* couplings[spin_glass::directions];  ///< of the red sites
};

constexpr int sites_of_thread = 16;

/// A thread takes some red sites, and their six bonds: together these are all.
template <class Packing, class Layout>
__global__ void count_unsatisfied(Packing packing, Layout layout, ByteLattices lattices, Sum* unsatisfied) {
  for (std::int64_t sample = blockIdx.y; sample < packing.samples; sample += gridDim.y) {
    for (int replica = 0; replica < packing.replicas; ++replica) {
      const std::int64_t lattice = packing.spin(sample, replica, 0), bonds = packing.coupling(sample, 0);
      int count = 0;
      for (int k = 0; k < sites_of_thread; ++k) {
        const std::int64_t i = (std::int64_t{blockIdx.x} * sites_of_thread + k) * blockDim.x + threadIdx.x;
        if (i >= packing.half) break;
        const auto neighbours = layout.neighbours(spin_glass::red, layout.place(static_cast<int>(i)));
        const std::uint8_t spin = lattices.spins[spin_glass::red][lattice + i];
        for (int d = 0; d < spin_glass::directions; ++d)
          count +=
              spin ^ lattices.spins[spin_glass::blue][lattice + neighbours.to[d]] ^ lattices.couplings[d][bonds + i];
      }
      if (count > 0) atomicAdd(&unsatisfied[sample * packing.replicas + replica], static_cast<Sum>(count));
    }
  }
}

/// A thread takes a pair of a sample.
template <class Packing>
__global__ void decide_exchanges(Packing packing, spin_glass::Decisions decisions, std::uint8_t* masks) {
  const spin_glass::OfferedPairs pairs(decisions.temperatures, packing.replicas, decisions.e);
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t id = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; id < packing.samples * pairs.all;
       id += stride) {
    const int colder = pairs.colder(static_cast<int>(id % pairs.all)), t = colder % decisions.temperatures;
    const std::int64_t lattice = id / pairs.all * packing.replicas + colder;
    const auto energy = [&](std::int64_t of) {
      return 2 * static_cast<std::int64_t>(decisions.unsatisfied[of]) - 3 * decisions.sites;
    };
    const std::uint64_t draw = spin_glass::exchange_draw(decisions.origin, packing.replicas, lattice, decisions.e);
    if (!decisions.table.accepts(t, energy(lattice), energy(lattice + 1), draw)) continue;
    masks[lattice] = 1;
    decisions.note(lattice, t);
  }
}

template <class Packing>
__global__ void swap_replicas(Packing packing, ByteLattices lattices, const std::uint8_t* masks) {
  for (std::int64_t sample = blockIdx.y; sample < packing.samples; sample += gridDim.y) {
    for (int replica = 0; replica + 1 < packing.replicas; ++replica) {
      if (masks[sample * packing.replicas + replica] == 0) continue;
      for (int k = 0; k < sites_of_thread; ++k) {
        const std::int64_t i = (std::int64_t{blockIdx.x} * sites_of_thread + k) * blockDim.x + threadIdx.x;
        if (i >= packing.half) break;
        for (std::uint8_t* const spins : lattices.spins) {
          std::uint8_t& colder = spins[packing.spin(sample, replica, i)];
          std::uint8_t& warmer = spins[packing.spin(sample, replica + 1, i)];
          const std::uint8_t spin = colder;
          colder = warmer;
          warmer = spin;
        }
      }
    }
  }
}

}  // namespace psflip::PSFLIP_PLATFORM
