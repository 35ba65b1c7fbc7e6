// Stage 06: any generator.
//
// The sliced update of stage 05, with the generator as a template parameter. A generator is a piece of state that each
// site carries with it, and a way to make the next number of it. So it costs what its state costs: MINSTD moves one
// word in and out for all replicas together, Philox none, MT19937 and Parisi-Rapuano three words in and one out for
// every single number.

#include "04_checkerboard/bitwise.hpp"
#include "04_checkerboard/standard.hpp"
#include "05_sliced/mapping.hpp"
#include "05_sliced/sliced.hpp"
#include "05_sliced/words.hpp"
#include "06_prng/generators/draws.hpp"
#include "06_prng/generators/with_generator.hpp"
#include "06_prng/planes/planes.hpp"
#include "spin_glass/engine/device_simulation.cuh"
#include "spin_glass/engine/launches.hpp"
#if PSFLIP_HAS_CURAND  // on a GPU
#include "06_prng/curand/curand.cuh"
#include "06_prng/curand/curand_mtgp32.hpp"
#endif

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

using namespace spin_glass;

constexpr int default_threads = 128;
constexpr int most_threads = 256;  // of a block: fewer threads may have more registers, and streams take many

/// Metropolis: whether a spin flips that has so many unsatisfied bonds of its six. With three the energy stays; each
/// threshold above the draw makes up for one that is missing. (To choose one, lanes would have to branch.)
__device__ bool flips(int unsatisfied, std::uint32_t draw, const Thresholds& thresholds) {
  return unsatisfied + (draw < thresholds.of[0]) + (draw < thresholds.of[1]) + (draw < thresholds.of[2]) >= 3;
}

// --- yours: as in stage 05, with the streams of any Prng: draw() for every replica, store() once
/// Words that nobody writes while the kernel runs: they may come by the read-only path.
template <class Word>
struct ReadOnly {
  const Word* words;
  __device__ Word operator[](std::int64_t i) const { return __ldg(words + i); }
};

/// The six couplings of the red sites: along[direction][sample * elements + i].
template <class Word>
struct Couplings {
  ReadOnly<Word> along[directions];
};

/// Updates the sites of one colour. An element is a word of s sites; what belongs to element i of a sample is number
/// sample * elements + i in the couplings, and (sample * replicas + replica) * elements + i in the spins.
template <class Prng, Colour colour, class Mapping, class Layout, class Word>
__global__ void __launch_bounds__(most_threads)
    update(Layout layout, int size, int elements, int samples, int replicas, Word* spins, ReadOnly<Word> others,
           Couplings<Word> couplings, StreamTable draws, ReplicaThresholds thresholds) {
  constexpr int s = sizeof(Word);
  const Place place = Mapping::place(layout);
  if (!inside(layout, place)) return;  // whole blocks cover the places: some threads have none
  const int i = layout.element(place.x, place.y, place.z);
  const Neighbours neighbours = layout.neighbours(colour, place);

  for (std::int64_t sample = Mapping::first_sample(); sample < samples; sample += Mapping::sample_step()) {
    const std::int64_t first = sample * elements;
    Six<Word> coupling;
    if constexpr (colour == red) {
      for (int d = 0; d < directions; ++d) coupling.in[d] = couplings.along[d][first + i];
    } else {  // a blue site's bond is its neighbour's, in the opposite direction
      coupling =
          look_around<Word>(neighbours, [&](int d, int element) { return couplings.along[d ^ 1][first + element]; });
    }
    typename Prng::template Streams<s> streams(
        draws.states, position_of<s>(draws, layout, size, colour, place, sample, (first + i) * s));

    for (int replica = 0; replica < replicas; ++replica) {
      const std::int64_t lattice = (sample * replicas + replica) * elements;
      const Six<Word> around =
          look_around<Word>(neighbours, [&](int, int element) { return others[lattice + element]; });
      const Word word = spins[lattice + i];
      const Words<s> draw = streams.draw();
      Word unsatisfied = 0, flip = 0;  // a byte a site
      for (int d = 0; d < directions; ++d) unsatisfied += word ^ around.in[d] ^ coupling.in[d];
      for (int k = 0; k < s; ++k)
        flip |= static_cast<Word>(flips(unsatisfied >> 8 * k & 0xff, draw.of[k], thresholds[replica])) << 8 * k;
      spins[lattice + i] = word ^ flip;
    }
    streams.store();
  }
}
// --- end

/// `sites` is the layout with one site an element, `words` the same with s of them.
template <class Prng, class Layout, class Word>
class PrngSimulation : public DeviceSimulation<Layout, Prng> {
 public:
  PrngSimulation(const Problem& problem, const Launch& launch, const Layout& sites, const Layout& words)
      : DeviceSimulation<Layout, Prng>(problem, launch, sites, CouplingsOf::red), words_(words) {}

 protected:
  void launch_half_sweep(Colour colour) override {
    with_constant<red, blue>(colour, [&]<int constant>() { launch<Colour(constant)>(); });
  }

 private:
  static constexpr int s = sizeof(Word);

  template <Colour colour>
  void launch() {
    const Problem& problem = this->problem_;
    const auto words_of = [](const auto& bytes) { return reinterpret_cast<const Word*>(bytes.data()); };
    Couplings<Word> couplings;
    for (int d = 0; d < directions; ++d) couplings.along[d] = {words_of(this->couplings_[red][d])};
    const std::int64_t n = this->draws_done();
    const StreamTable draws{this->states(colour), origin(problem), problem.samples_per_stream, n, slot_of<Prng>(n)};
    update<Prng, colour, Linear><<<Linear::grid(words_, *this->launch_.threads, problem.samples),
                                   Linear::block(words_, *this->launch_.threads)>>>(
        words_, this->size_, this->half_ / s, static_cast<int>(problem.samples), static_cast<int>(problem.replicas),
        reinterpret_cast<Word*>(this->spins_[colour].data()), ReadOnly<Word>{words_of(this->spins_[other(colour)])},
        couplings, draws, this->thresholds_);
  }

  Layout words_;
};

template <class Prng>
std::unique_ptr<Simulation> make(const Problem& problem, const Launch& launch) {
  refuse_large_problem(problem, launch, bytes_needed<Prng>(problem, CouplingsOf::red));
  const int size = static_cast<int>(problem.size);
  if (launch.indexing == Indexing::standard)
    return std::make_unique<PrngSimulation<Prng, Standard, std::uint8_t>>(problem, launch, Standard{size},
                                                                          Standard{size});
  if (launch.indexing == Indexing::bitwise) {
    const Bitwise layout{std::countr_zero(static_cast<unsigned>(size))};
    return std::make_unique<PrngSimulation<Prng, Bitwise, std::uint8_t>>(problem, launch, layout, layout);
  }
  return with_constant<1, 2, 4, 8>(*launch.sites_per_thread, [&]<int s>() -> std::unique_ptr<Simulation> {
    return std::make_unique<PrngSimulation<Prng, Sliced, UnsignedOf<s>>>(problem, launch, Sliced{size, size},
                                                                         Sliced{size, size / s});
  });
}

}  // namespace

std::unique_ptr<Simulation> make_simulation(const Problem& problem, const Launch& wish) {
  Offer offer;
  offer.generators = {generators.begin(), generators.end()};
#if PSFLIP_HAS_CURAND
  offer.generators.insert(offer.generators.end(), curand_generators.begin(), curand_generators.end());
#endif
  for (const Indexing indexing : {Indexing::sliced, Indexing::standard, Indexing::bitwise})
    for (const int s : {8, 4, 2, 1})
      if (s == 1 || (problem.size % s == 0 && indexing == Indexing::sliced))
        offer.launches.push_back({.indexing = indexing, .sites_per_thread = s});
  const bool planes = problem.generator == Generator::philox_planes;
  if (planes) offer.launches = {{.indexing = Indexing::sliced, .sites_per_thread = 1}};
  offer.threads = problem.generator == Generator::curand_mtgp32 ? most_threads : default_threads;
  offer.most_threads = most_threads;
  const Launch launch = complete(problem, wish, offer);

#if PSFLIP_HAS_CURAND
  if (problem.generator == Generator::curand_xorwow) return make<prng::CurandXorwow>(problem, launch);
  if (problem.generator == Generator::curand_philox) return make<prng::CurandPhilox>(problem, launch);
  if (problem.generator == Generator::curand_mtgp32) return make_curand_mtgp32(problem, launch);
#endif
  if (planes) return make_planes(problem, launch);
  return with_generator(problem.generator, [&]<class Prng>() { return make<Prng>(problem, launch); });
}

}  // namespace psflip::PSFLIP_PLATFORM
