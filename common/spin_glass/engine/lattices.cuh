/// Spins and couplings on a device, in the order of a layout (spin_glass/model/geometry.hpp) and in words of any width:
/// their start, and the way between them and the canonical order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/device_buffer.hpp"
#include "gpu/timer.hpp"
#include "spin_glass/engine/replica_exchange.cuh"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/disorder.hpp"
#include "spin_glass/model/geometry.hpp"

namespace psflip::PSFLIP_PLATFORM {

using spin_glass::Colour;
using spin_glass::Direction;

/// Calls f(i) for the thread's share of 0 <= i < count, whatever the grid.
template <class F>
__device__ void for_each_element(std::int64_t count, F f) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) f(i);
}

/// A grid for kernels that use it.
inline constexpr unsigned setup_threads = 256;
inline unsigned setup_blocks(std::int64_t elements) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((elements - 1) / setup_threads + 1, 1, 2048));
}

/// How much is copied at once, or one lattice if that is more: on host threads what a cache holds.
#ifdef __CUDACC__
inline constexpr std::int64_t transfer_bytes = 32 << 20;
#else
inline constexpr std::int64_t transfer_bytes = 1 << 20;
#endif

/// One byte: 1 = up, 0 = down.
using SpinByte = std::uint8_t;
/// One byte: 1 = antiferromagnetic (J = -1), 0 = ferromagnetic. A bond is unsatisfied if spin ^ spin ^ coupling is 1.
using CouplingByte = std::uint8_t;

/// The simplest packing, a byte for every spin and bond: spins[(sample * replicas + replica) * half + i] for element i
/// of a colour, and couplings[sample * half + i].
///
/// A packing says where the spin of a sample and replica lies, and the bond of a sample: in which Unit, and which bit
/// of it. Samples of one unit share a stream; a word is what a thread takes of them, `units` units side by side.
struct Bytes {
  using Unit = std::uint8_t;
  static constexpr int units = 1;
  static constexpr int bits = 1;  ///< samples of a unit

  std::int64_t samples, samples_per_stream;
  std::int64_t half;  ///< sites of one colour
  int replicas;

  explicit Bytes(const spin_glass::Problem& problem)
      : samples(problem.samples),
        samples_per_stream(problem.samples_per_stream),
        half(sites(problem) / 2),
        replicas(static_cast<int>(problem.replicas)) {}

  PSFLIP_HOST_DEVICE constexpr std::int64_t words() const { return samples; }
  PSFLIP_HOST_DEVICE constexpr std::int64_t words_per_group() const { return samples_per_stream; }
  PSFLIP_HOST_DEVICE constexpr std::int64_t first_sample(std::int64_t unit) const { return unit; }
  PSFLIP_HOST_DEVICE constexpr int samples_in(std::int64_t /*unit*/) const { return 1; }
  PSFLIP_HOST_DEVICE constexpr std::int64_t unit_of(std::int64_t sample) const { return sample; }
  PSFLIP_HOST_DEVICE constexpr int bit_of(std::int64_t /*sample*/) const { return 0; }
  PSFLIP_HOST_DEVICE constexpr std::int64_t spin(std::int64_t unit, int replica, std::int64_t i) const {
    return (unit * replicas + replica) * half + i;
  }
  PSFLIP_HOST_DEVICE constexpr std::int64_t coupling(std::int64_t unit, std::int64_t i) const {
    return unit * half + i;
  }
  PSFLIP_HOST_DEVICE constexpr std::int64_t spin_units() const { return samples * replicas * half; }
  PSFLIP_HOST_DEVICE constexpr std::int64_t coupling_units() const { return samples * half; }
};

/// The number of the bond (3 s + d) that leaves a site in a direction: the site's own, or the one of its neighbour.
PSFLIP_HOST_DEVICE constexpr std::int64_t bond(spin_glass::Site site, Direction direction, int size) {
  if (direction == spin_glass::minus_x) site.x = spin_glass::before(site.x, size);
  if (direction == spin_glass::minus_y) site.y = spin_glass::before(site.y, size);
  if (direction == spin_glass::minus_z) site.z = spin_glass::before(site.z, size);
  return 3 * number(site, size) + direction / 2;
}

/// Makes a unit: bit b is of(sample) for the sample to which it belongs, 0 where there is none.
template <class Packing, class Of>
__device__ typename Packing::Unit gather(const Packing& packing, std::int64_t unit, Of of) {
  const std::int64_t first = packing.first_sample(unit);
  const int count = packing.samples_in(unit);
  std::uint32_t bits = 0;
  for (int b = 0; b < count; ++b) bits |= static_cast<std::uint32_t>(of(first + b)) << b;
  return static_cast<typename Packing::Unit>(bits);
}

/// The start of one colour's spins.
template <class Packing, class Layout>
__global__ void start_spins(typename Packing::Unit* spins, Packing packing, Layout layout, Colour colour, int size,
                            Origin origin, bool random) {
  const std::int64_t units = packing.words() * packing.units;
  for_each_element(units * packing.replicas * packing.half, [&](std::int64_t number) {
    const std::int64_t i = number % packing.half, unit = number / packing.half / packing.replicas;
    const int replica = static_cast<int>(number / packing.half % packing.replicas);
    const std::int64_t s = spin_glass::number(layout.site(colour, layout.place(static_cast<int>(i))), size);
    spins[packing.spin(unit, replica, i)] = gather(packing, unit, [&](std::int64_t sample) {
      return !random || spin_glass::starts_up(origin, sample, replica, s);
    });
  });
}

/// Random couplings of the sites of a colour in one direction.
template <class Packing, class Layout>
__global__ void draw_couplings(typename Packing::Unit* couplings, Packing packing, Layout layout, Colour colour,
                               Direction direction, int size, Origin origin, std::uint64_t probability_units) {
  for_each_element(packing.coupling_units(), [&](std::int64_t number) {
    const std::int64_t unit = number / packing.half, i = number % packing.half;
    const std::int64_t b = bond(layout.site(colour, layout.place(static_cast<int>(i))), direction, size);
    couplings[packing.coupling(unit, i)] = gather(packing, unit, [&](std::int64_t sample) {
      return !spin_glass::is_ferromagnetic(origin, sample, b, probability_units);
    });
  });
}

/// Given couplings of one sample, canonical[3 s + d] = +-1, into its bits of couplings that are all 0.
template <class Packing, class Layout>
__global__ void place_couplings(const spin_glass::Coupling* canonical, typename Packing::Unit* couplings,
                                Packing packing, std::int64_t sample, Layout layout, Colour colour, Direction direction,
                                int size) {
  const std::int64_t unit = packing.unit_of(sample);
  for_each_element(packing.half, [&](std::int64_t i) {
    const auto site = layout.site(colour, layout.place(static_cast<int>(i)));
    const bool antiferromagnetic = canonical[bond(site, direction, size)] < 0;
    couplings[packing.coupling(unit, i)] |= static_cast<std::uint32_t>(antiferromagnetic) << packing.bit_of(sample);
  });
}

/// `count` lattices of a colour from number `first` = sample * replicas + replica on, back into the order of s and to
/// +-1. Only the sites that the layout owns.
template <class Packing, class Layout>
__global__ void take_spins(const typename Packing::Unit* spins, spin_glass::Spin* canonical, Packing packing,
                           Layout layout, Colour colour, int size, std::int64_t first, std::int64_t count) {
  for_each_element(count * packing.half, [&](std::int64_t number) {
    const std::int64_t lattice = number / packing.half, i = number % packing.half;
    const std::int64_t sample = (first + lattice) / packing.replicas;
    const int replica = static_cast<int>((first + lattice) % packing.replicas);
    const spin_glass::Place place = layout.place(static_cast<int>(i));
    if (!owns(layout, colour, place)) return;
    const std::int64_t s = spin_glass::number(layout.site(colour, place), size);
    const std::uint32_t unit = spins[packing.spin(packing.unit_of(sample), replica, i)];
    canonical[lattice * size * size * size + s] = unit >> packing.bit_of(sample) & 1 ? 1 : -1;
  });
}

/// Sets a bit of a unit that other threads may be setting bits of. A byte has one bit, and nobody else.
__device__ inline void set_bit(std::uint32_t& unit, int bit) { atomicOr(&unit, 1u << bit); }
__device__ inline void set_bit(std::uint8_t& unit, int /*bit*/) { unit = 1; }

/// take_spins in the other direction, into spins that are all down.
template <class Packing, class Layout>
__global__ void put_spins(typename Packing::Unit* spins, const spin_glass::Spin* canonical, Packing packing,
                          Layout layout, Colour colour, int size, std::int64_t first, std::int64_t count) {
  for_each_element(count * packing.half, [&](std::int64_t number) {
    const std::int64_t lattice = number / packing.half, i = number % packing.half;
    const std::int64_t sample = (first + lattice) / packing.replicas;
    const int replica = static_cast<int>((first + lattice) % packing.replicas);
    const std::int64_t s = spin_glass::number(layout.site(colour, layout.place(static_cast<int>(i))), size);
    if (canonical[lattice * size * size * size + s] > 0)
      set_bit(spins[packing.spin(packing.unit_of(sample), replica, i)], packing.bit_of(sample));
  });
}

/// Whether an engine stores the six couplings of every site, so each twice, or those of the red sites only: every bond
/// has one red end.
enum class CouplingsOf { red_and_blue, red };

/// A Simulation but for the streams and the update, so that it is compiled once a layout. `Layout` maps single sites to
/// elements: all sites, or those of the part of the lattice that a rank has.
template <class Layout, class Packing>
class Lattices : public spin_glass::Simulation {
 public:
  using Unit = typename Packing::Unit;

  Lattices(const spin_glass::Problem& problem, const spin_glass::Launch& launch, const Layout& layout,
           CouplingsOf stored, const Packing& packing)
      : size_(static_cast<int>(problem.size)),
        half_(static_cast<int>(packing.half)),
        problem_(problem),
        launch_(launch),
        packing_(packing),
        layout_(layout),
        thresholds_(spin_glass::thresholds(problem)) {
    problem_.given_couplings.reset();  // the device has them; nobody else needs them
    CHECK_CUDA(cudaSetDevice(launch.device));
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      spins_[colour] = DeviceBuffer<Unit>(static_cast<std::size_t>(packing_.spin_units()));
      CHECK_CUDA(cudaMemset(spins_[colour].data(), 0, spins_[colour].bytes()));  // bits of no replica, too
      if (colour == spin_glass::red || stored == CouplingsOf::red_and_blue) make_couplings(colour, problem);
    }
    if (problem.ladder) tempering_ = std::make_unique<ReplicaExchange<Packing>>(problem_, packing_);
  }

  void restart() override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      start_spins<<<setup_blocks(packing_.spin_units()), setup_threads>>>(spins_[colour].data(), packing_, layout_,
                                                                          colour, size_, origin(problem_),
                                                                          problem_.start == spin_glass::Start::random);
      CHECK_CUDA(cudaGetLastError());
      seed_streams(colour);
    }
    if (tempering_) tempering_->restart();
    CHECK_CUDA(cudaDeviceSynchronize());
    half_sweeps_done_ = 0;
  }

  double advance(std::int64_t half_sweeps) override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    const std::int64_t end = half_sweeps_done_ + half_sweeps;
    timer_.start();
    while (half_sweeps_done_ < end) {
      const spin_glass::Ladder& ladder = problem_.ladder;
      const std::int64_t next = ladder ? std::min(end, spin_glass::next_exchange(ladder, half_sweeps_done_)) : end;
      update(next - half_sweeps_done_);
      half_sweeps_done_ = next;
      if (const auto e = spin_glass::exchange_after(ladder, next)) exchange(*e);
    }
    return timer_.stop();
  }

  std::int64_t half_sweeps() const override { return half_sweeps_done_; }

  spin_glass::State state() const override {
    spin_glass::State result{size_, problem_.samples, problem_.replicas, {}, temperatures(problem_), exchanges()};
    result.spins.reserve(problem_.samples * problem_.replicas * sites(problem_));
    take_lattices([&](std::span<const spin_glass::Spin> part) {
      result.spins.insert(result.spins.end(), part.begin(), part.end());
    });
    return result;
  }

  spin_glass::Exchanges exchanges() const override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    return tempering_ ? tempering_->state() : spin_glass::Exchanges();
  }

  spin_glass::Launch launch() const override { return launch_; }

 protected:
  // An engine has one of these two: a kernel for a half-sweep, or one for many.
  /// Starts the kernel that updates all sites of one colour, in all samples and replicas: half-sweep number
  /// half_sweeps_done_.
  virtual void launch_half_sweep(Colour /*colour*/) {}
  /// Starts the kernels for half-sweeps number half_sweeps_done_ and following, in the default stream.
  virtual void update(std::int64_t half_sweeps) {
    for (; half_sweeps > 0; --half_sweeps, ++half_sweeps_done_) {
      launch_half_sweep(half_sweeps_done_ % 2 == 0 ? spin_glass::red : spin_glass::blue);
      CHECK_CUDA(cudaGetLastError());
    }
  }
  /// Counts the unsatisfied bonds of every unit, replica and bit, which are 0 before. An engine whose packing is not
  /// Bytes has its own.
  virtual void count_unsatisfied(DeviceBuffer<Sum>& unsatisfied) {
    if constexpr (Packing::bits == 1)
      PSFLIP_PLATFORM::count_unsatisfied<<<grid_of_bytes(), setup_threads>>>(packing_, layout_, bytes(),
                                                                             unsatisfied.data());
  }
  /// Says which samples exchange a replica with the next: the bits of masks[unit * replicas + replica], 0 before.
  virtual void decide_exchanges(const spin_glass::Decisions& decisions, Unit* masks) {
    if constexpr (Packing::bits == 1)
      PSFLIP_PLATFORM::decide_exchanges<<<setup_blocks(packing_.samples * packing_.replicas), setup_threads>>>(
          packing_, decisions, masks);
  }
  /// Lets replicas and the next ones change places, in the samples that masks[unit * replicas + replica] names.
  virtual void swap_replicas(const Unit* masks) {
    if constexpr (Packing::bits == 1)
      PSFLIP_PLATFORM::swap_replicas<<<grid_of_bytes(), setup_threads>>>(packing_, bytes(), masks);
  }
  /// Puts the streams of a colour to their beginning.
  virtual void seed_streams(Colour colour) = 0;

  /// Calls take(spins in the order of s) for some lattices, and so on to the last. A site that the layout does not own
  /// has 0.
  template <class Take>
  void take_lattices(Take take) const {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    for_each_part([&](std::int64_t first, std::int64_t count, std::span<spin_glass::Spin> part,
                      DeviceBuffer<spin_glass::Spin>& canonical) {
      CHECK_CUDA(cudaMemset(canonical.data(), 0, canonical.bytes()));
      for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
        take_spins<<<setup_blocks(count * packing_.half), setup_threads>>>(
            spins_[colour].data(), canonical.data(), packing_, layout_, colour, size_, first, count);
        CHECK_CUDA(cudaGetLastError());
      }
      CHECK_CUDA(cudaMemcpy(part.data(), canonical.data(), part.size_bytes(), cudaMemcpyDeviceToHost));
      take(part);
    });
  }
  /// Lets give(first lattice, room for spins in the order of s) say what the spins become, some lattices after others.
  template <class Give>
  void put_lattices(Give give) {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    for (const Colour colour : {spin_glass::red, spin_glass::blue})
      CHECK_CUDA(cudaMemset(spins_[colour].data(), 0, spins_[colour].bytes()));
    for_each_part([&](std::int64_t first, std::int64_t count, std::span<spin_glass::Spin> part,
                      DeviceBuffer<spin_glass::Spin>& canonical) {
      give(first, part);
      CHECK_CUDA(cudaMemcpy(canonical.data(), part.data(), part.size_bytes(), cudaMemcpyHostToDevice));
      for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
        put_spins<<<setup_blocks(count * packing_.half), setup_threads>>>(
            spins_[colour].data(), canonical.data(), packing_, layout_, colour, size_, first, count);
        CHECK_CUDA(cudaGetLastError());
      }
    });
  }

  int size_, half_;  ///< L, and the elements of a colour
  spin_glass::Problem problem_;
  spin_glass::Launch launch_;
  Packing packing_;
  Layout layout_;
  spin_glass::ReplicaThresholds thresholds_;
  // Index: the colour.
  DeviceBuffer<Unit> spins_[2];                              ///< Packing::spin
  DeviceBuffer<Unit> couplings_[2][spin_glass::directions];  ///< Packing::coupling; perhaps none of blue sites
  std::unique_ptr<ReplicaExchange<Packing>> tempering_;      ///< with a ladder
  std::int64_t half_sweeps_done_ = 0;

 private:
  void exchange(std::int64_t e) {
    count_unsatisfied(tempering_->unsatisfied());
    CHECK_CUDA(cudaGetLastError());
    Unit* const masks = tempering_->masks();
    decide_exchanges(tempering_->decisions(e), masks);
    swap_replicas(masks);
    CHECK_CUDA(cudaGetLastError());
  }
  dim3 grid_of_bytes() const {
    constexpr int of_block = setup_threads * sites_of_thread;
    return {static_cast<unsigned>((packing_.half - 1) / of_block + 1),
            static_cast<unsigned>(std::min<std::int64_t>(problem_.samples, 65535))};
  }
  ByteLattices bytes() {
    ByteLattices all{{spins_[0].data(), spins_[1].data()}, {}};
    for (int d = 0; d < spin_glass::directions; ++d) all.couplings[d] = couplings_[spin_glass::red][d].data();
    return all;
  }

  /// Calls f(first lattice, lattices, room for their spins on the host, and on the device) for one part after the
  /// other.
  template <class F>
  void for_each_part(F f) const {
    const std::int64_t lattices = problem_.samples * problem_.replicas;
    const std::int64_t at_once = std::clamp<std::int64_t>(transfer_bytes / sites(problem_), 1, lattices);
    std::vector<spin_glass::Spin> on_host(at_once * sites(problem_));
    DeviceBuffer<spin_glass::Spin> canonical(on_host.size());
    for (std::int64_t first = 0; first < lattices; first += at_once) {
      const std::int64_t count = std::min(at_once, lattices - first);
      f(first, count, std::span(on_host).first(count * sites(problem_)), canonical);
    }
  }

  void make_couplings(Colour colour, const spin_glass::Problem& problem) {
    using namespace spin_glass;
    const std::uint64_t probability = units_of_probability(problem.ferromagnetic_fraction);
    for (int d = 0; d < directions; ++d) {
      DeviceBuffer<Unit>& couplings = couplings_[colour][d];
      couplings = DeviceBuffer<Unit>(static_cast<std::size_t>(packing_.coupling_units()));
      CHECK_CUDA(cudaMemset(couplings.data(), 0, couplings.bytes()));
      if (problem.given_couplings) continue;
      draw_couplings<<<setup_blocks(packing_.coupling_units()), setup_threads>>>(
          couplings.data(), packing_, layout_, colour, Direction(d), size_, origin(problem), probability);
      CHECK_CUDA(cudaGetLastError());
    }
    if (problem.given_couplings) {
      DeviceBuffer<Coupling> canonical(static_cast<std::size_t>(3 * sites(problem)));
      for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
        canonical.copy_from_host((*problem.given_couplings)[static_cast<std::size_t>(sample)].data());
        for (int d = 0; d < directions; ++d) {
          place_couplings<<<setup_blocks(packing_.half), setup_threads>>>(
              canonical.data(), couplings_[colour][d].data(), packing_, sample, layout_, colour, Direction(d), size_);
          CHECK_CUDA(cudaGetLastError());
        }
      }
    }
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  Timer timer_;
};

}  // namespace psflip::PSFLIP_PLATFORM
