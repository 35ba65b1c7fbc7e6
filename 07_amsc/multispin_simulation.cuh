/// What the engines of this stage have in common: bit-packed spins and couplings on the device, in the sliced layout of
/// stage 05, the streams of stage 06, and the way back to the canonical order.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "05_sliced/sliced.hpp"
#include "06_prng/generators/draws.hpp"
#include "06_prng/generators/minstd.hpp"
#include "06_prng/generators/mt19937.hpp"
#include "06_prng/generators/parisi_rapuano.hpp"
#include "06_prng/generators/philox.hpp"
#include "07_amsc/multispin.hpp"
#include "07_amsc/observe/observe.hpp"
#include "gpu/constants.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/timer.hpp"
#include "spin_glass/engine/device_simulation.cuh"
#include "spin_glass/engine/launches.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/disorder.hpp"

namespace psflip::PSFLIP_PLATFORM {

using amsc::Packing;
using spin_glass::Sliced;
using spin_glass::Thresholds;

/// Makes a unit of bits: bit b is of(sample) for the sample to which it belongs, 0 where there is none.
template <class Of>
__device__ std::uint32_t gather(const Packing& packing, std::int64_t unit, Of of) {
  const std::int64_t first = packing.first_sample(unit);
  const int count = packing.samples_in(unit);
  std::uint32_t bits = 0;
  for (int b = 0; b < count; ++b) bits |= static_cast<std::uint32_t>(of(first + b)) << b;
  return bits;
}

/// The start of one colour's spins.
template <class Layout>
__global__ void start_words(std::uint32_t* spins, Packing packing, Layout layout, Colour colour, int size,
                            std::uint64_t seed, bool random) {
  const std::int64_t units = packing.words() * packing.units;
  for_each_element(units * packing.replicas * packing.half, [&](std::int64_t number) {
    const std::int64_t i = number % packing.half, unit = number / packing.half / packing.replicas;
    const int replica = static_cast<int>(number / packing.half % packing.replicas);
    const std::int64_t s = spin_glass::number(layout.site(colour, layout.place(static_cast<int>(i))), size);
    spins[packing.spin(unit, replica, i)] = gather(
        packing, unit, [&](std::int64_t sample) { return !random || spin_glass::starts_up(seed, sample, replica, s); });
  });
}

/// Every stream at its beginning: number (word * copies + copy) * half + i. The words of a group have equal ones.
template <class Generator, class Layout>
__global__ void seed_words(States states, Packing packing, int copies, Layout layout, Colour colour, int size,
                           std::uint64_t seed) {
  for_each_element(states.count, [&](std::int64_t id) {
    const std::int64_t word = id / packing.half / copies, group = word / packing.words_per_group();
    const std::int64_t i = id % packing.half;
    const std::int64_t s = spin_glass::number(layout.site(colour, layout.place(static_cast<int>(i))), size);
    Generator::seed(states, id, stream_seed(seed, group, s));
  });
}

/// Random couplings of the red sites in one direction.
template <class Layout>
__global__ void draw_coupling_words(std::uint32_t* couplings, Packing packing, Layout layout, Direction direction,
                                    int size, std::uint64_t seed, std::uint64_t probability_units) {
  for_each_element(packing.coupling_units(), [&](std::int64_t number) {
    const std::int64_t unit = number / packing.half, i = number % packing.half;
    const std::int64_t b = bond(layout.site(spin_glass::red, layout.place(static_cast<int>(i))), direction, size);
    couplings[packing.coupling(unit, i)] = gather(packing, unit, [&](std::int64_t sample) {
      return !spin_glass::is_ferromagnetic(seed, sample, b, probability_units);
    });
  });
}

/// Given couplings of one sample, canonical[3 s + d] = +-1, into its bit of couplings that are all 0.
template <class Layout>
__global__ void place_coupling_bits(const spin_glass::Coupling* canonical, std::uint32_t* couplings, Packing packing,
                                    std::int64_t sample, Layout layout, Direction direction, int size) {
  const std::int64_t unit = packing.unit_of(sample);
  for_each_element(packing.half, [&](std::int64_t i) {
    const auto site = layout.site(spin_glass::red, layout.place(static_cast<int>(i)));
    const bool antiferromagnetic = canonical[bond(site, direction, size)] < 0;
    couplings[packing.coupling(unit, i)] |= static_cast<std::uint32_t>(antiferromagnetic) << packing.bit_of(sample);
  });
}

/// `count` lattices of a colour from number `first` = sample * replicas + replica on, back into the order of s and to
/// +-1. Only the sites that the layout owns.
template <class Layout>
__global__ void take_spin_bits(const std::uint32_t* spins, spin_glass::Spin* canonical, Packing packing, Layout layout,
                               Colour colour, int size, std::int64_t first, std::int64_t count) {
  for_each_element(count * packing.half, [&](std::int64_t number) {
    const std::int64_t lattice = number / packing.half, i = number % packing.half;
    const std::int64_t sample = (first + lattice) / packing.replicas;
    const int replica = static_cast<int>((first + lattice) % packing.replicas);
    const spin_glass::Place place = layout.place(static_cast<int>(i));
    if (!owns(layout, colour, place)) return;
    const std::int64_t s = spin_glass::number(layout.site(colour, place), size);
    const std::uint32_t word = spins[packing.spin(packing.unit_of(sample), replica, i)];
    canonical[lattice * size * size * size + s] = word >> packing.bit_of(sample) & 1 ? 1 : -1;
  });
}

/// The same in the other direction, into spins that are all down.
template <class Layout>
__global__ void put_spin_bits(std::uint32_t* spins, const spin_glass::Spin* canonical, Packing packing, Layout layout,
                              Colour colour, int size, std::int64_t first, std::int64_t count) {
  for_each_element(count * packing.half, [&](std::int64_t number) {
    const std::int64_t lattice = number / packing.half, i = number % packing.half;
    const std::int64_t sample = (first + lattice) / packing.replicas;
    const int replica = static_cast<int>((first + lattice) % packing.replicas);
    const std::int64_t s = spin_glass::number(layout.site(colour, layout.place(static_cast<int>(i))), size);
    if (canonical[lattice * size * size * size + s] > 0)
      atomicOr(&spins[packing.spin(packing.unit_of(sample), replica, i)], 1u << packing.bit_of(sample));
  });
}

/// What the kernels take of an engine's arrays; index 0 are the red spins.
struct Words32 {
  std::uint32_t* spins[2];
  const std::uint32_t* couplings[spin_glass::directions];  ///< of the red sites
};

/// Spins and couplings of the sites of `Layout` on the device: all sites, or those of a part of the lattice, which
/// stage 08 gives to a rank. All that does not depend on the generator, so that it is compiled once a layout.
template <class Layout>
class MultispinLattices : public spin_glass::Simulation {
 public:
  MultispinLattices(const spin_glass::Problem& problem, const spin_glass::Launch& launch, const Packing& packing,
                    const Layout& layout)
      : size_(static_cast<int>(problem.size)),
        problem_(problem),
        launch_(launch),
        packing_(packing),
        layout_(layout),
        thresholds_(spin_glass::thresholds(problem.beta, problem.generator)) {
    problem_.given_couplings.reset();  // the device has them; nobody else needs them
    CHECK_CUDA(cudaSetDevice(launch.device));
    for (auto& spins : spins_) {
      spins = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(packing_.spin_units()));
      CHECK_CUDA(cudaMemset(spins.data(), 0, spins.bytes()));  // bits of no replica, too
    }
    make_couplings(problem);
  }

  void restart() override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      start_words<<<setup_blocks(packing_.spin_units()), setup_threads>>>(spins_[colour].data(), packing_, layout_,
                                                                          colour, size_, problem_.seed,
                                                                          problem_.start == spin_glass::Start::random);
      CHECK_CUDA(cudaGetLastError());
      seed_streams(colour);
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    half_sweeps_done_ = 0;
  }

  double advance(std::int64_t half_sweeps) override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    timer_.start();
    if (half_sweeps > 0) update(half_sweeps);
    half_sweeps_done_ += half_sweeps;
    return timer_.stop();
  }

  std::int64_t half_sweeps() const override { return half_sweeps_done_; }

  spin_glass::State state() const override {
    spin_glass::State result{size_, problem_.samples, problem_.replicas, {}};
    result.spins.reserve(problem_.samples * problem_.replicas * sites(problem_));
    take_state([&](std::span<const spin_glass::Spin> part) {
      result.spins.insert(result.spins.end(), part.begin(), part.end());
    });
    return result;
  }

  void take_state(const spin_glass::TakeSpins& take) const override { take_lattices(take); }

  bool spares_host_memory() const override { return true; }

  std::optional<std::vector<spin_glass::SampleObservables>> observe(bool correlations) const override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    return observe_packed(packing_, arrays(), size_, correlations);
  }

  spin_glass::Launch launch() const override { return launch_; }

 protected:
  /// Does half-sweeps number half_sweeps_done_ and following: starts the kernels for them, in the default stream.
  virtual void update(std::int64_t half_sweeps) = 0;
  /// Puts the streams of a colour to their beginning.
  virtual void seed_streams(Colour colour) = 0;

  Words32 words() {
    Words32 all{{spins_[0].data(), spins_[1].data()}, {}};
    for (int d = 0; d < spin_glass::directions; ++d) all.couplings[d] = couplings_[d].data();
    return all;
  }
  /// Calls take(first lattice, spins in the order of s) for some lattices, and so on to the last. A site that the
  /// layout does not own has 0.
  template <class Take>
  void take_lattices(Take take) const {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    for_each_part([&](std::int64_t first, std::int64_t count, std::span<spin_glass::Spin> part,
                      DeviceBuffer<spin_glass::Spin>& canonical) {
      CHECK_CUDA(cudaMemset(canonical.data(), 0, canonical.bytes()));
      for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
        take_spin_bits<<<setup_blocks(count * packing_.half), setup_threads>>>(
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
        put_spin_bits<<<setup_blocks(count * packing_.half), setup_threads>>>(
            spins_[colour].data(), canonical.data(), packing_, layout_, colour, size_, first, count);
        CHECK_CUDA(cudaGetLastError());
      }
    });
  }

  const std::uint32_t* spins(Colour colour) const { return spins_[colour].data(); }
  amsc::PackedArrays arrays() const {
    amsc::PackedArrays all{{spins(spin_glass::red), spins(spin_glass::blue)}, {}};
    for (int d = 0; d < spin_glass::directions; ++d) all.couplings[d] = couplings_[d].data();
    return all;
  }

  int size_;  ///< L
  spin_glass::Problem problem_;
  spin_glass::Launch launch_;
  Packing packing_;
  Layout layout_;
  Thresholds thresholds_;
  std::int64_t half_sweeps_done_ = 0;

 private:
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

  void make_couplings(const spin_glass::Problem& problem) {
    using namespace spin_glass;
    for (int d = 0; d < directions; ++d)
      couplings_[d] = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(packing_.coupling_units()));
    if (!problem.given_couplings) {
      const std::uint64_t probability = units_of_probability(problem.ferromagnetic_fraction);
      for (int d = 0; d < directions; ++d) {
        draw_coupling_words<<<setup_blocks(packing_.coupling_units()), setup_threads>>>(
            couplings_[d].data(), packing_, layout_, Direction(d), size_, problem.seed, probability);
        CHECK_CUDA(cudaGetLastError());
      }
    } else {
      DeviceBuffer<Coupling> canonical(static_cast<std::size_t>(3 * sites(problem)));
      for (int d = 0; d < directions; ++d) CHECK_CUDA(cudaMemset(couplings_[d].data(), 0, couplings_[d].bytes()));
      for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
        canonical.copy_from_host((*problem.given_couplings)[static_cast<std::size_t>(sample)].data());
        for (int d = 0; d < directions; ++d) {
          place_coupling_bits<<<setup_blocks(packing_.half), setup_threads>>>(
              canonical.data(), couplings_[d].data(), packing_, sample, layout_, Direction(d), size_);
          CHECK_CUDA(cudaGetLastError());
        }
      }
    }
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  DeviceBuffer<std::uint32_t> spins_[2];                           ///< of each colour: Packing::spin
  DeviceBuffer<std::uint32_t> couplings_[spin_glass::directions];  ///< Packing::coupling, of the red sites
  Timer timer_;
};

/// An engine: with the streams.
template <class Generator, class Layout = Sliced>
class MultispinSimulation : public MultispinLattices<Layout> {
 public:
  /// `copies`: how often every stream is stored, for threads that share its numbers.
  MultispinSimulation(const spin_glass::Problem& problem, const spin_glass::Launch& launch, const Packing& packing,
                      int copies) requires std::same_as<Layout, Sliced>
      : MultispinSimulation(problem, launch, packing, copies,
                            Sliced{static_cast<int>(problem.size), static_cast<int>(problem.size)}) {}

  MultispinSimulation(const spin_glass::Problem& problem, const spin_glass::Launch& launch, const Packing& packing,
                      int copies, const Layout& layout)
      : MultispinLattices<Layout>(problem, launch, packing, layout), copies_(copies) {
    for (auto& states : states_)
      states = DeviceBuffer<std::uint32_t>(
          static_cast<std::size_t>(Generator::words * copies * packing.words() * packing.half));
    this->restart();
  }

  /// Bytes of device memory that an engine takes for a problem, buffers for transfers included.
  static double bytes_needed(const spin_glass::Problem& problem, const Packing& packing, int copies) {
    const double spins = 8.0 * static_cast<double>(packing.spin_units());
    const double couplings = 24.0 * static_cast<double>(packing.coupling_units());
    const double states = 8.0 * Generator::words * copies * static_cast<double>(packing.words() * packing.half);
    return spins + couplings + states + std::max(4.0 * static_cast<double>(sites(problem)), 1.0 * transfer_bytes);
  }

  bool can_resume() const override { return true; }

  int stream_words() const override { return Generator::history; }

  void save_streams(const spin_glass::TakeWord& take) const override {
    CHECK_CUDA(cudaSetDevice(this->launch_.device));
    PSFLIP_PLATFORM::save_streams<Generator>({states_[spin_glass::red].data(), states_[spin_glass::blue].data()},
                                             stream_order(this->half_sweeps_done_), take);
  }

  void resume(std::int64_t half_sweeps, const spin_glass::State& state, const spin_glass::GiveWord& give) override {
    check_resumed(this->problem_, half_sweeps, state);
    this->put_lattices([&](std::int64_t first, std::span<spin_glass::Spin> part) {
      std::copy_n(state.spins.begin() + first * sites(this->problem_), part.size(), part.begin());
    });
    put_streams(half_sweeps, give);
  }

  double bytes_per_flip() const override {
    // A word of spins: own in and out, the other colour's. Then, for all replicas, six of couplings.
    return (3 + 6.0 / this->problem_.replicas) / 8 + bytes_of_streams();
  }

 protected:
  /// Bytes a flip that the streams' states take.
  double bytes_of_streams() const {
    const double replicas = static_cast<double>(this->problem_.replicas),
                 samples = Packing::bits * this->packing_.units;
    return copies_ * Generator::bytes(replicas) / replicas / samples;
  }
  /// The streams of a colour: number (word * copies + copy) * half + i is that of element i.
  States states(Colour colour) {
    return {states_[colour].data(), copies_ * this->packing_.words() * this->packing_.half};
  }
  /// Where the streams of a colour stand before half-sweep number h. What is a sample in stage 06 is a word here.
  Draws draws(std::int64_t h) {
    const std::int64_t n = h / 2 * this->problem_.replicas;
    const int slot = Generator::words > 0 ? static_cast<int>(n % std::max(Generator::words, 1)) : 0;
    return {states(Colour(h % 2)), this->problem_.seed, this->packing_.words_per_group(), n, slot};
  }

  void seed_streams(Colour colour) override {
    seed_words<Generator><<<setup_blocks(states(colour).count), setup_threads>>>(
        states(colour), this->packing_, copies_, this->layout_, colour, this->size_, this->problem_.seed);
    CHECK_CUDA(cudaGetLastError());
  }
  /// The streams become what `give` says, as they are after so many half-sweeps, and so does the engine.
  void put_streams(std::int64_t half_sweeps, const spin_glass::GiveWord& give) {
    restore_streams<Generator>({states_[spin_glass::red].data(), states_[spin_glass::blue].data()},
                               stream_order(half_sweeps), give);
    this->half_sweeps_done_ = half_sweeps;
  }

  int copies_;  ///< of every stream

 private:
  StreamOrder<Layout> stream_order(std::int64_t half_sweeps) const {
    return {this->layout_,
            this->size_,
            copies_ * this->packing_.words(),
            copies_ * this->packing_.words_per_group(),
            half_sweeps,
            this->problem_.replicas};
  }

  DeviceBuffer<std::uint32_t> states_[2];  ///< of each colour: [word of state][word][element]
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

/// Calls f.operator()<G>() for the generator G of this name.
template <class F>
auto with_generator(spin_glass::Generator generator, F f) {
  switch (generator) {
    case spin_glass::Generator::minstd:
      return f.template operator()<prng::Minstd>();
    case spin_glass::Generator::parisi_rapuano:
      return f.template operator()<prng::ParisiRapuano>();
    case spin_glass::Generator::mt19937:
      return f.template operator()<prng::Mt19937>();
    case spin_glass::Generator::philox:
      return f.template operator()<prng::Philox<>>();
    default:
      throw std::logic_error("with_generator: a generator that was not listed");
  }
}

}  // namespace psflip::PSFLIP_PLATFORM
