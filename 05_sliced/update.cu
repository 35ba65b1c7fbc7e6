// Stage 05: the sliced layout.
//
// Cut the lattice along its body diagonal, and every plane has one colour; a site's neighbours are three in the plane
// above and three in the one below. Sites that lie side by side now have neighbours that lie side by side, for both
// colours and any even L. So one thread can take s of them at once: s spins are the bytes of one word, and what is
// added and compared in one byte never reaches the next. Each coupling is stored once, with its red end.

#include "04_checkerboard/standard.hpp"
#include "05_sliced/loads.hpp"
#include "05_sliced/mapping.hpp"
#include "05_sliced/sliced.hpp"
#include "05_sliced/words.hpp"
#include "spin_glass/engine/device_simulation.cuh"
#include "spin_glass/engine/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

using namespace spin_glass;

constexpr int default_threads = 128;

// --- yours: as in stage 04, with s sites in the bytes of a word; where do the couplings of a blue site lie?
/// Metropolis: whether a spin flips that has so many unsatisfied bonds of its six. With three the energy stays; each
/// threshold above the draw makes up for one that is missing. (To choose one, lanes would have to branch.)
__device__ bool flips(int unsatisfied, std::uint32_t draw, const Thresholds& thresholds) {
  return unsatisfied + (draw < thresholds.of[0]) + (draw < thresholds.of[1]) + (draw < thresholds.of[2]) >= 3;
}

/// Updates the sites of one colour. An element is a word of s sites; what belongs to element i of a sample is number
/// sample * elements + i in couplings and streams, and (sample * replicas + replica) * elements + i in the spins.
template <Colour colour, class Mapping, class Layout, class Word, Load load>
__global__ void __launch_bounds__(1024)
    update(Layout layout, int elements, int samples, int replicas, Word* spins, Source<Word, load> others,
           Couplings<Word, load> couplings, Streams<sizeof(Word)>* streams, ReplicaThresholds thresholds) {
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
    Streams<s> stream = streams[first + i];

    for (int replica = 0; replica < replicas; ++replica) {
      const std::int64_t lattice = (sample * replicas + replica) * elements;
      const Six<Word> around =
          look_around<Word>(neighbours, [&](int, int element) { return others[lattice + element]; });
      const Word word = spins[lattice + i];
      Word unsatisfied = 0, flip = 0;  // a byte a site
      for (int d = 0; d < directions; ++d) unsatisfied += word ^ around.in[d] ^ coupling.in[d];
      for (int k = 0; k < s; ++k)
        flip |= static_cast<Word>(flips(unsatisfied >> 8 * k & 0xff, stream.of[k].draw(), thresholds[replica]))
                << 8 * k;
      spins[lattice + i] = word ^ flip;
    }
    streams[first + i] = stream;
  }
}
// --- end

/// `sites` is the layout with one site an element, `words` the same with s of them.
template <class Mapping, class Layout, class Word, Load load>
class SlicedSimulation : public DeviceSimulation<Layout> {
 public:
  SlicedSimulation(const Problem& problem, const Launch& launch, const Layout& sites, const Layout& words)
      : DeviceSimulation<Layout>(problem, launch, sites, CouplingsOf::red), words_(words) {
    if constexpr (load == Load::texture) {
      for (int c = 0; c < 2; ++c) spin_textures_[c] = texture(this->spins_[c]);
      for (int d = 0; d < directions; ++d) coupling_textures_[d] = texture(this->couplings_[red][d]);
    }
  }

 protected:
  void launch_half_sweep(Colour colour) override {
    with_constant<red, blue>(colour, [&]<int constant>() { launch<Colour(constant)>(); });
  }

 private:
  static constexpr int s = sizeof(Word);

  template <Colour colour>
  void launch() {
    const Problem& problem = this->problem_;
    Couplings<Word, load> couplings;
    for (int d = 0; d < directions; ++d)
      couplings.along[d] = source<load>(words_of(this->couplings_[red][d]), coupling_textures_[d]);
    update<colour, Mapping><<<Mapping::grid(words_, *this->launch_.threads, problem.samples),
                              Mapping::block(words_, *this->launch_.threads)>>>(
        words_, this->half_ / s, static_cast<int>(problem.samples), static_cast<int>(problem.replicas),
        reinterpret_cast<Word*>(this->spins_[colour].data()),
        source<load>(words_of(this->spins_[other(colour)]), spin_textures_[other(colour)]), couplings,
        reinterpret_cast<Streams<s>*>(this->minstd_streams(colour)), this->thresholds_);
  }

  static const Word* words_of(const DeviceBuffer<std::uint8_t>& bytes) {
    return reinterpret_cast<const Word*>(bytes.data());
  }
  Texture texture(const DeviceBuffer<std::uint8_t>& bytes) const {
    return {words_of(bytes), bytes.size() / s, this->launch_.device};
  }

  Layout words_;
  Texture spin_textures_[2], coupling_textures_[directions];
};

template <class Mapping, class Layout, class Word>
std::unique_ptr<Simulation> make(const Problem& problem, const Launch& launch, const Layout& sites,
                                 const Layout& words) {
  const auto make_with = [&]<Load load>() -> std::unique_ptr<Simulation> {
    return std::make_unique<SlicedSimulation<Mapping, Layout, Word, load>>(problem, launch, sites, words);
  };
  if (launch.load == Load::texture) return make_with.template operator()<Load::texture>();
  if (launch.load == Load::readonly) return make_with.template operator()<Load::readonly>();
  return make_with.template operator()<Load::plain>();
}

template <class Mapping>
std::unique_ptr<Simulation> make_sliced(const Problem& problem, const Launch& launch) {
  const int size = static_cast<int>(problem.size);
  return with_constant<1, 2, 4, 8>(*launch.sites_per_thread, [&]<int s>() {
    return make<Mapping, Sliced, UnsignedOf<s>>(problem, launch, Sliced{size, size}, Sliced{size, size / s});
  });
}

}  // namespace

std::unique_ptr<Simulation> make_simulation(const Problem& problem, const Launch& wish) {
  Offer offer{.threads = default_threads};
  for (const Indexing indexing : {Indexing::sliced, Indexing::sliced_grid, Indexing::standard_grid})
    for (const Load load : {Load::readonly, Load::plain, Load::texture})
      for (const int s : {8, 4, 2, 1})
        if (s == 1 || (problem.size % s == 0 && indexing != Indexing::standard_grid))
          offer.launches.push_back({.indexing = indexing, .load = load, .sites_per_thread = s});
  const Launch launch = complete(problem, wish, offer);
  refuse_wide_row(problem, launch);
  refuse_large_problem(problem, launch, bytes_needed(problem, CouplingsOf::red));

  if (*launch.indexing == Indexing::sliced) return make_sliced<Linear>(problem, launch);
  if (*launch.indexing == Indexing::sliced_grid) return make_sliced<Grid>(problem, launch);
  const Standard layout{static_cast<int>(problem.size)};
  return make<Grid, Standard, std::uint8_t>(problem, launch, layout, layout);
}

}  // namespace psflip::PSFLIP_PLATFORM
