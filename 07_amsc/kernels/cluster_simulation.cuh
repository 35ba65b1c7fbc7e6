/// What the kernels that run on clusters of thread blocks have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "07_amsc/elements.hpp"
#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/multispin_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {

/// What is the same for all threads of a launch.
struct Sweeps {
  Sliced layout;
  std::int64_t half;  ///< sites of a colour
  std::int64_t words;
  Words32 arrays;
  States streams[2];  ///< [colour]
  Origin origin;
  std::int64_t words_per_group;
  ReplicaThresholds thresholds;
  int replicas;        ///< of a word, of which a system's draws serve some
  std::int64_t first;  ///< number of the first half-sweep; even ones are red
  std::int64_t half_sweeps;
};

/// A system is a word, and `bundles` elements with `interleaved` replicas each. Draws are made for `replicas` at once,
/// of which a system has all or a part; a word has as many or, with generators without a state, several times as many.
template <int replicas, int interleaved, int bundles>
struct System {
  static constexpr int parts = replicas / (interleaved * bundles);  ///< systems that share draws

  int all_parts;  ///< systems of a word
  std::int64_t word;
  int part;  ///< of all_parts
  const Words32& arrays;
  std::int64_t half;

  __device__ System(const Sweeps& sweeps, unsigned number)
      : all_parts(sweeps.replicas / (interleaved * bundles)),
        word(number / all_parts),
        part(static_cast<int>(number % all_parts)),
        arrays(sweeps.arrays),
        half(sweeps.half) {}

  /// The number of a bundle's first replica, and of the first for which draws are made.
  __device__ int first_replica(int bundle) const { return (part * bundles + bundle) * interleaved; }
  __device__ int first_drawn() const { return part / parts * replicas; }

  /// The spins of a colour and bundle, [element].
  template <class Element>
  __device__ Element* spins(int colour, int bundle) const {
    return reinterpret_cast<Element*>(arrays.spins[colour]) + ((word * all_parts + part) * bundles + bundle) * half;
  }
  /// The couplings in a direction, [element].
  template <class Bond>
  __device__ const Bond* bonds(int direction) const {
    return reinterpret_cast<const Bond*>(arrays.couplings[direction]) + word * half;
  }
  /// Of the draws for all replicas, those for a bundle. (A choice, not an index: indices of registers have to be
  /// known.)
  __device__ void choose(const std::uint32_t (&all)[replicas], int bundle, std::uint32_t (&chosen)[interleaved]) const {
#pragma unroll
    for (int i = 0; i < interleaved; ++i) {
      chosen[i] = all[bundle * interleaved + i];
#pragma unroll
      for (int other = 1; other < parts; ++other)
        if (part % parts == other) chosen[i] = all[(other * bundles + bundle) * interleaved + i];
    }
  }
};

/// The stream of a site, before half-sweep number h. Every part of a word has a copy of the streams.
template <class Prng, int replicas, int interleaved, int bundles>
__device__ auto stream_for_site(const Sweeps& sweeps, const System<replicas, interleaved, bundles>& system,
                                std::int64_t h, spin_glass::Place place) {
  const Colour colour = Colour(h % 2);
  const std::int64_t n = h / 2 * sweeps.replicas + system.first_drawn();
  const int slot = slot_of<Prng>(n);
  const StreamTable streams{colour == spin_glass::red ? sweeps.streams[0] : sweeps.streams[1], sweeps.origin,
                            sweeps.words_per_group, n, slot};
  const int size = sweeps.layout.size;
  const std::int64_t i = place.x + size * (place.y + std::int64_t{size} * place.z);
  const std::int64_t id = (system.word * system.all_parts + system.part) * sweeps.half + i;
  return typename Prng::template Streams<1>(
      streams.states, position_of<1>(streams, sweeps.layout, size, colour, place, system.word, id));
}

/// The draws of a site in half-sweep number h, for all its replicas.
template <class Prng, class System, int replicas>
__device__ void draw_for_site(const Sweeps& sweeps, const System& system, std::int64_t h, spin_glass::Place place,
                              std::uint32_t (&draws)[replicas]) {
  auto stream = stream_for_site<Prng>(sweeps, system, h, place);
  draw(stream, draws);
  stream.store();
}

template <class Prng>
class ClusterSimulation : public MultispinSimulation<Prng> {
 public:
  using MultispinSimulation<Prng>::MultispinSimulation;

 protected:
  Sweeps sweeps(std::int64_t first, std::int64_t half_sweeps) {
    const Packing& packing = this->packing_;
    return {this->layout_,
            packing.half,
            packing.words(),
            this->words(),
            {this->states(spin_glass::red), this->states(spin_glass::blue)},
            origin(this->problem_),
            packing.words_per_group(),
            this->thresholds_,
            packing.replicas,
            first,
            half_sweeps};
  }

  /// One cluster a system.
  void launch_clusters(void (*kernel)(Sweeps), dim3 threads, std::size_t bytes, const Sweeps& sweeps) {
    const auto cluster = static_cast<unsigned>(*this->launch_.cluster);
    const auto systems =
        static_cast<unsigned>(sweeps.words * (this->packing_.replicas / *this->launch_.replicas_together));
    CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    if (cluster > 8) CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(systems * cluster);
    config.blockDim = threads;
    config.dynamicSmemBytes = bytes;
    config.attrs = &attribute;
    config.numAttrs = cluster > 1 ? 1 : 0;
    CHECK_CUDA(cudaLaunchKernelEx(&config, kernel, sweeps));
  }
};

/// Engine<generator, units, replicas, interleaved, bundles> for a problem with so many replicas_drawn(). A word has one
/// of these numbers of units. `parts`: a system may have some of the replicas only.
template <template <class, int, int, int, int> class Engine, bool parts, int... all_units>
std::unique_ptr<spin_glass::Simulation> make_clusters(const spin_glass::Problem& problem,
                                                      const spin_glass::Launch& launch) {
  return with_generator(problem.generator, [&]<class Prng>() {
    return with_constant<1, 2, 4>(replicas_drawn(problem), [&]<int replicas>() {
      return with_constant<all_units...>(
          *launch.samples_per_word / Packing::bits, [&]<int units>() -> std::unique_ptr<spin_glass::Simulation> {
            if constexpr (parts && replicas > 1)
              if (launch.replicas_together == 1)
                return make_multispin<Engine<Prng, units, replicas, 1, 1>>(problem, launch, 1, replicas);
            if constexpr (parts && replicas > 2)
              if (launch.replicas_together == 2)
                return make_multispin<Engine<Prng, units, replicas, 2, 1>>(problem, launch, 2, replicas / 2);
            constexpr int interleaved = std::min(replicas, filling<units>);
            return make_multispin<Engine<Prng, units, replicas, interleaved, replicas / interleaved>>(problem, launch,
                                                                                                      interleaved);
          });
    });
  });
}

}  // namespace psflip::PSFLIP_PLATFORM
