/// What the engines have in common that run on a device: spins and couplings in the order of a layout (lattices.cuh), a
/// random stream for every site of a colour and every word of samples, the loop over the half-sweeps, and the way back
/// to the canonical order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "gpu/constants.hpp"
#include "gpu/device_buffer.hpp"
#include "random/minstd.hpp"
#include "random/streams.hpp"
#include "spin_glass/engine/lattices.cuh"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/engine/stream_order.cuh"

namespace psflip::PSFLIP_PLATFORM {

/// Every stream at its beginning: number (word * copies + copy) * half + i. The words of a group have equal ones.
template <class Prng, class Packing, class Layout>
__global__ void seed_streams(States states, Packing packing, int copies, Layout layout, Colour colour, int size,
                             Origin origin) {
  for_each_element(states.count, [&](std::int64_t id) {
    const std::int64_t word = id / packing.half / copies, group = word / packing.words_per_group();
    const std::int64_t i = id % packing.half;
    const std::int64_t s = number(layout.site(colour, layout.place(static_cast<int>(i))), size);
    Prng::seed(states, id, stream_seed(origin, group, s));
  });
}

/// Bytes of device memory that an engine takes for a problem, buffers for transfers included.
template <class Prng = Minstd, class Packing = Bytes>
double bytes_needed(const spin_glass::Problem& problem, CouplingsOf stored, const Packing& packing, int copies = 1) {
  const double spins = 2.0 * sizeof(typename Packing::Unit) * static_cast<double>(packing.spin_units());
  const double couplings = (stored == CouplingsOf::red ? 6.0 : 12.0) * sizeof(typename Packing::Unit) *
                           static_cast<double>(packing.coupling_units());
  const double states = 8.0 * Prng::words * copies * static_cast<double>(packing.words() * packing.half);
  // Energies, walkers and the rest of exchanges.
  const double lattices = static_cast<double>(packing.words() * packing.units * Packing::bits * problem.replicas);
  const double exchanges = problem.ladder ? 16.2 * lattices : 0;
  return exchanges + spins + couplings + states +
         std::max(4.0 * static_cast<double>(sites(problem)), 1.0 * transfer_bytes);
}
template <class Prng = Minstd>
double bytes_needed(const spin_glass::Problem& problem, CouplingsOf stored) {
  return bytes_needed<Prng>(problem, stored, Bytes(problem));
}

/// Lattices with streams. Prng says how many words of state a stream has and how it begins; Minstd
/// (random/minstd.hpp) is an example. `copies`: how often every stream is stored, for threads that share its numbers.
template <class Layout, class Prng, class Packing>
class StreamSimulation : public Lattices<Layout, Packing> {
 public:
  StreamSimulation(const spin_glass::Problem& problem, const spin_glass::Launch& launch, const Layout& layout,
                   CouplingsOf stored, const Packing& packing, int copies = 1)
      : Lattices<Layout, Packing>(problem, launch, layout, stored, packing), copies_(copies) {
    for (auto& states : states_)
      states = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(Prng::words * streams()));
    this->restart();
  }
  StreamSimulation(const spin_glass::Problem& problem, const spin_glass::Launch& launch, const Layout& layout,
                   CouplingsOf stored)
      : StreamSimulation(problem, launch, layout, stored, Packing(problem)) {}

  double bytes_per_flip() const override {
    const double replicas = static_cast<double>(this->problem_.replicas);
    // Spins: own in and out, the other colour's. Then, for all replicas, six couplings and the stream.
    return (3 + 6 / replicas) * sizeof(typename Packing::Unit) / Packing::bits + bytes_of_streams();
  }

 protected:
  /// Bytes a flip that the streams' states take.
  double bytes_of_streams() const {
    const double replicas = static_cast<double>(this->problem_.replicas);
    return copies_ * Prng::bytes(replicas) / replicas / (Packing::bits * this->packing_.units);
  }

  void seed_streams(Colour colour) override {
    PSFLIP_PLATFORM::seed_streams<Prng><<<setup_blocks(streams()), setup_threads>>>(
        states(colour), this->packing_, copies_, this->layout_, colour, this->size_, origin(this->problem_));
    CHECK_CUDA(cudaGetLastError());
  }

  /// Of a colour.
  std::int64_t streams() const { return copies_ * this->packing_.words() * this->packing_.half; }
  /// The streams of a colour: number (word * copies + copy) * half + i is that of element i.
  States states(Colour colour) { return {states_[colour].data(), streams()}; }
  Minstd* minstd_streams(Colour colour) { return reinterpret_cast<Minstd*>(states_[colour].data()); }
  /// How many numbers every stream of the colour that is next has given.
  std::int64_t draws_done() const { return this->half_sweeps_done_ / 2 * this->problem_.replicas; }

  int copies_;                             ///< of every stream
  DeviceBuffer<std::uint32_t> states_[2];  ///< of each colour: [word of state][word of samples][copy][element]
};

/// The same with streams that can leave it.
template <class Layout, class Prng, class Packing>
class ResumableSimulation : public StreamSimulation<Layout, Prng, Packing>, public spin_glass::Resumable {
 public:
  using StreamSimulation<Layout, Prng, Packing>::StreamSimulation;

  int stream_words() const override { return Prng::history; }

  void save_streams(const spin_glass::TakeWord& take) const override {
    CHECK_CUDA(cudaSetDevice(this->launch_.device));
    PSFLIP_PLATFORM::save_streams<Prng>({this->states_[0].data(), this->states_[1].data()},
                                        stream_order(this->half_sweeps_done_), take);
  }

  void resume(std::int64_t half_sweeps, const spin_glass::State& state, const spin_glass::GiveWord& give) override {
    check_resumed(this->problem_, half_sweeps, state);
    this->put_lattices([&](std::int64_t first, std::span<spin_glass::Spin> part) {
      std::copy_n(state.spins.begin() + first * sites(this->problem_), part.size(), part.begin());
    });
    if (this->tempering_) this->tempering_->resume(state.exchanges);
    put_streams(half_sweeps, give);
  }

 protected:
  /// The streams become what `give` says, as they are after so many half-sweeps, and so does the engine.
  void put_streams(std::int64_t half_sweeps, const spin_glass::GiveWord& give) {
    restore_streams<Prng>({this->states_[0].data(), this->states_[1].data()}, stream_order(half_sweeps), give);
    this->half_sweeps_done_ = half_sweeps;
  }

 private:
  StreamOrder<Layout> stream_order(std::int64_t half_sweeps) const {
    return {this->layout_,
            this->size_,
            this->copies_ * this->packing_.words(),
            this->copies_ * this->packing_.words_per_group(),
            half_sweeps,
            this->problem_.replicas};
  }
};

/// What an engine derives from: it adds the kernel, and how to launch it.
template <class Layout, class Prng = Minstd, class Packing = Bytes>
using DeviceSimulation = std::conditional_t<HasHistory<Prng>, ResumableSimulation<Layout, Prng, Packing>,
                                            StreamSimulation<Layout, Prng, Packing>>;

/// How many blocks of `size` elements cover n.
constexpr unsigned blocks_for(std::int64_t n, std::int64_t size) { return static_cast<unsigned>((n - 1) / size + 1); }

}  // namespace psflip::PSFLIP_PLATFORM
