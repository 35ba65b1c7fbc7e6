/// What the engines of stages 04 and 05 have in common: spins, couplings and MINSTD streams on the device in the order
/// of a layout (spin_glass/model/geometry.hpp), the loop over the half-sweeps, and the way back to the canonical order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/invalid_input.hpp"
#include "gpu/constants.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/timer.hpp"
#include "random/minstd.hpp"
#include "random/streams.hpp"
#include "spin_glass/engine/canonical.cuh"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/disorder.hpp"
#include "spin_glass/model/geometry.hpp"

namespace psflip::PSFLIP_PLATFORM {

using spin_glass::Direction;

/// One byte: 1 = up, 0 = down.
using SpinByte = std::uint8_t;
/// One byte: 1 = antiferromagnetic (J = -1), 0 = ferromagnetic. A bond is unsatisfied if spin ^ spin ^ coupling is 1.
using CouplingByte = std::uint8_t;

/// The number of the bond (3 s + d) that leaves a site in a direction: the site's own, or the one of its neighbour.
PSFLIP_HOST_DEVICE constexpr std::int64_t bond(spin_glass::Site site, Direction direction, int size) {
  if (direction == spin_glass::minus_x) site.x = spin_glass::before(site.x, size);
  if (direction == spin_glass::minus_y) site.y = spin_glass::before(site.y, size);
  if (direction == spin_glass::minus_z) site.z = spin_glass::before(site.z, size);
  return 3 * number(site, size) + direction / 2;
}

/// The start: spins[(sample * replicas + replica) * half + i] for element i of a colour.
template <class Layout>
__global__ void start(SpinByte* spins, Layout layout, Colour colour, int size, int half, std::int64_t samples,
                      std::int64_t replicas, std::uint64_t seed, bool random) {
  for_each_element(samples * replicas * half, [&](std::int64_t element) {
    const std::int64_t sample = element / half / replicas, replica = element / half % replicas;
    const std::int64_t s = number(layout.site(colour, layout.place(static_cast<int>(element % half))), size);
    spins[element] = !random || spin_glass::starts_up(seed, sample, replica, s);
  });
}

/// Every stream at its beginning: number sample * half + i. The samples of a group have equal ones.
template <class Generator, class Layout>
__global__ void seed_streams(States states, Layout layout, Colour colour, int size, int half, std::int64_t samples,
                             std::int64_t samples_per_stream, std::uint64_t seed) {
  for_each_element(samples * half, [&](std::int64_t element) {
    const std::int64_t group = element / half / samples_per_stream;
    const std::int64_t s = number(layout.site(colour, layout.place(static_cast<int>(element % half))), size);
    Generator::seed(states, element, stream_seed(seed, group, s));
  });
}

/// Random couplings in one direction: couplings[sample * half + i] for element i of a colour.
template <class Layout>
__global__ void draw_couplings(CouplingByte* couplings, Layout layout, Colour colour, Direction direction, int size,
                               int half, std::int64_t samples, std::uint64_t seed, std::uint64_t probability_units) {
  for_each_element(samples * half, [&](std::int64_t element) {
    const spin_glass::Site site = layout.site(colour, layout.place(static_cast<int>(element % half)));
    couplings[element] =
        !spin_glass::is_ferromagnetic(seed, element / half, bond(site, direction, size), probability_units);
  });
}

/// Given couplings of one sample, canonical[3 s + d] = +-1, to couplings[i].
template <class Layout>
__global__ void place_couplings(const spin_glass::Coupling* canonical, CouplingByte* couplings, Layout layout,
                                Colour colour, Direction direction, int size, int half) {
  for_each_element(half, [&](std::int64_t i) {
    const spin_glass::Site site = layout.site(colour, layout.place(static_cast<int>(i)));
    couplings[i] = canonical[bond(site, direction, size)] < 0;
  });
}

/// Whether an engine stores the six couplings of every site, so each twice, or those of the red sites only: every bond
/// has one red end.
enum class CouplingsOf { red_and_blue, red };

/// Bytes of device memory that an engine takes for a problem, buffers for transfers included.
template <class Generator = Minstd>
double bytes_needed(const spin_glass::Problem& problem, CouplingsOf stored) {
  const double lattice = static_cast<double>(sites(problem));
  const double couplings = stored == CouplingsOf::red ? 3 : 6;
  const double per_site = static_cast<double>(problem.replicas) + couplings + 4.0 * Generator::words;
  return static_cast<double>(problem.samples) * lattice * per_site + std::max(4 * lattice, 1.0 * transfer_bytes);
}

/// Spins and couplings on the device in the order of a layout, and the loop over the half-sweeps: all that does not
/// depend on the generator, so that it is compiled once a layout.
template <class Layout>
class LatticeSimulation : public spin_glass::Simulation {
 public:
  /// `layout` maps single sites to bytes.
  LatticeSimulation(const spin_glass::Problem& problem, const spin_glass::Launch& launch, const Layout& layout,
                    CouplingsOf stored)
      : size_(static_cast<int>(problem.size)),
        half_(static_cast<int>(sites(problem) / 2)),
        problem_(problem),
        launch_(launch),
        layout_(layout),
        thresholds_(spin_glass::thresholds(problem.beta, problem.generator)) {
    problem_.given_couplings.reset();  // the device has them; nobody else needs them
    CHECK_CUDA(cudaSetDevice(launch.device));
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      spins_[colour] = DeviceBuffer<SpinByte>(static_cast<std::size_t>(lattices() * half_));
      if (colour == spin_glass::red || stored == CouplingsOf::red_and_blue) make_couplings(colour, problem);
    }
  }

  void restart() override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      start<<<setup_blocks(lattices() * half_), setup_threads>>>(spins_[colour].data(), layout_, colour, size_, half_,
                                                                 problem_.samples, problem_.replicas, problem_.seed,
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
    for (std::int64_t i = 0; i < half_sweeps; ++i) {
      launch_half_sweep(half_sweeps_done_ % 2 == 0 ? spin_glass::red : spin_glass::blue);
      CHECK_CUDA(cudaGetLastError());
      ++half_sweeps_done_;
    }
    return timer_.stop();
  }

  spin_glass::State state() const override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    spin_glass::State result{size_, problem_.samples, problem_.replicas, {}};
    const std::int64_t lattice_sites = sites(problem_);
    result.spins.resize(lattices() * lattice_sites);
    for_each_part([&](std::int64_t first, std::int64_t count, spin_glass::Spin* canonical) {
      for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
        take_spins<<<setup_blocks(count * half_), setup_threads>>>(spins_[colour].data() + first * half_, canonical,
                                                                   layout_, colour, size_, half_, count);
        CHECK_CUDA(cudaGetLastError());
      }
      CHECK_CUDA(
          cudaMemcpy(&result.spins[first * lattice_sites], canonical, count * lattice_sites, cudaMemcpyDeviceToHost));
    });
    return result;
  }

  std::int64_t half_sweeps() const override { return half_sweeps_done_; }
  spin_glass::Launch launch() const override { return launch_; }

 protected:
  /// Starts the kernel that updates all sites of one colour, in all samples and replicas.
  virtual void launch_half_sweep(Colour colour) = 0;
  /// Puts the streams of a colour to their beginning.
  virtual void seed_streams(Colour colour) = 0;

  /// state() the other way round.
  void put_state(const spin_glass::State& state) {
    for_each_part([&](std::int64_t first, std::int64_t count, spin_glass::Spin* canonical) {
      CHECK_CUDA(cudaMemcpy(canonical, &state.spins[first * sites(problem_)], count * sites(problem_),
                            cudaMemcpyHostToDevice));
      for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
        put_spins<<<setup_blocks(count * half_), setup_threads>>>(spins_[colour].data() + first * half_, canonical,
                                                                  layout_, colour, size_, half_, count);
        CHECK_CUDA(cudaGetLastError());
      }
    });
  }

  /// How many numbers every stream of the colour that is next has given.
  std::int64_t draws_done() const { return half_sweeps_done_ / 2 * problem_.replicas; }

  int size_, half_;  ///< L, and the sites of one colour
  spin_glass::Problem problem_;
  spin_glass::Launch launch_;
  Layout layout_;
  spin_glass::Thresholds thresholds_;
  // Index: the colour.
  DeviceBuffer<SpinByte> spins_[2];                                  ///< [sample][replica][element]
  DeviceBuffer<CouplingByte> couplings_[2][spin_glass::directions];  ///< [sample][element]; perhaps none of blue sites
  std::int64_t half_sweeps_done_ = 0;

 private:
  std::int64_t lattices() const { return problem_.samples * problem_.replicas; }

  /// Calls f(first lattice, lattices, room for their canonical spins on the device) for one part after the other.
  template <class F>
  void for_each_part(F f) const {
    const std::int64_t at_once = std::clamp<std::int64_t>(transfer_bytes / sites(problem_), 1, lattices());
    DeviceBuffer<spin_glass::Spin> canonical(at_once * sites(problem_));
    for (std::int64_t first = 0; first < lattices(); first += at_once)
      f(first, std::min(at_once, lattices() - first), canonical.data());
  }

  void make_couplings(Colour colour, const spin_glass::Problem& problem) {
    using namespace spin_glass;
    for (int d = 0; d < directions; ++d)
      couplings_[colour][d] = DeviceBuffer<CouplingByte>(static_cast<std::size_t>(problem.samples * half_));
    if (!problem.given_couplings) {
      const std::uint64_t probability = units_of_probability(problem.ferromagnetic_fraction);
      for (int d = 0; d < directions; ++d) {
        draw_couplings<<<setup_blocks(problem.samples * half_), setup_threads>>>(
            couplings_[colour][d].data(), layout_, colour, Direction(d), size_, half_, problem.samples, problem.seed,
            probability);
        CHECK_CUDA(cudaGetLastError());
      }
    } else {
      DeviceBuffer<Coupling> canonical(static_cast<std::size_t>(3 * sites(problem)));
      for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
        canonical.copy_from_host((*problem.given_couplings)[static_cast<std::size_t>(sample)].data());
        for (int d = 0; d < directions; ++d) {
          place_couplings<<<setup_blocks(half_), setup_threads>>>(canonical.data(),
                                                                  couplings_[colour][d].data() + sample * half_,
                                                                  layout_, colour, Direction(d), size_, half_);
          CHECK_CUDA(cudaGetLastError());
        }
      }
    }
    CHECK_CUDA(cudaDeviceSynchronize());
  }

  Timer timer_;
};

/// With the streams. Generator says how many words of state a stream has and how it begins; Minstd (random/minstd.hpp)
/// is an example.
template <class Layout, class Generator = Minstd>
class DeviceSimulation : public LatticeSimulation<Layout> {
 public:
  DeviceSimulation(const spin_glass::Problem& problem, const spin_glass::Launch& launch, const Layout& layout,
                   CouplingsOf stored)
      : LatticeSimulation<Layout>(problem, launch, layout, stored) {
    for (auto& states : states_)
      states = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(Generator::words * problem.samples * this->half_));
    this->restart();
  }

  bool can_resume() const override { return Resumable<Generator>; }

  int stream_words() const override {
    if constexpr (Resumable<Generator>) return Generator::history;
    return 0;
  }

  void save_streams(const spin_glass::TakeWord& take) const override {
    if constexpr (Resumable<Generator>) {
      CHECK_CUDA(cudaSetDevice(this->launch_.device));
      PSFLIP_PLATFORM::save_streams<Generator>({states_[spin_glass::red].data(), states_[spin_glass::blue].data()},
                                               stream_order(this->half_sweeps_done_), take);
    }
  }

  void resume(std::int64_t half_sweeps, const spin_glass::State& state, const spin_glass::GiveWord& give) override {
    if constexpr (!Resumable<Generator>) {
      spin_glass::Simulation::resume(half_sweeps, state, give);
    } else {
      check_resumed(this->problem_, half_sweeps, state);
      CHECK_CUDA(cudaSetDevice(this->launch_.device));
      this->put_state(state);
      restore_streams<Generator>({states_[spin_glass::red].data(), states_[spin_glass::blue].data()},
                                 stream_order(half_sweeps), give);
      this->half_sweeps_done_ = half_sweeps;
    }
  }

  double bytes_per_flip() const override {
    const double replicas = static_cast<double>(this->problem_.replicas);
    // Spins: own in and out, the other colour's. Then, for all replicas, six couplings and the stream.
    return 3 + (6 + Generator::bytes(replicas)) / replicas;
  }

 protected:
  void seed_streams(Colour colour) override {
    const spin_glass::Problem& problem = this->problem_;
    PSFLIP_PLATFORM::seed_streams<Generator><<<setup_blocks(problem.samples * this->half_), setup_threads>>>(
        states(colour), this->layout_, colour, this->size_, this->half_, problem.samples, problem.samples_per_stream,
        problem.seed);
    CHECK_CUDA(cudaGetLastError());
  }

  /// The streams of a colour: number sample * half + i is that of element i.
  States states(Colour colour) { return {states_[colour].data(), this->problem_.samples * this->half_}; }
  Minstd* minstd_streams(Colour colour) { return reinterpret_cast<Minstd*>(states_[colour].data()); }

 private:
  StreamOrder<Layout> stream_order(std::int64_t half_sweeps) const {
    const spin_glass::Problem& problem = this->problem_;
    return {this->layout_, this->size_, problem.samples, problem.samples_per_stream, half_sweeps, problem.replicas};
  }

  DeviceBuffer<std::uint32_t> states_[2];  ///< of each colour: [word][sample][element]
};

/// How many blocks of `size` elements cover n.
constexpr unsigned blocks_for(std::int64_t n, std::int64_t size) { return static_cast<unsigned>((n - 1) / size + 1); }

}  // namespace psflip::PSFLIP_PLATFORM
