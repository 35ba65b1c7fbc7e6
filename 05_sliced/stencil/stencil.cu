// The cubic stencil: what the layouts of stages 04 and 05 cost in memory accesses alone.
//
// An update of the spin glass reads six neighbours and six couplings, decides, and writes. Here the decision is an XOR
// of all twelve, so that nothing is left to measure but how the words travel. Red and blue words lie in two arrays, the
// couplings at their red ends, and a thread has one site: update.cu without spins, draws and thresholds.

#include <bit>
#include <memory>
#include <stdexcept>

#include "04_checkerboard/bitwise.hpp"
#include "04_checkerboard/standard.hpp"
#include "05_sliced/loads.hpp"
#include "05_sliced/mapping.hpp"
#include "05_sliced/sliced.hpp"
#include "05_sliced/stencil/stencil_device.cuh"
#include "gpu/constants.hpp"
#include "spin_glass/engine/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

using namespace spin_glass;
using stencil::Launch;

constexpr int default_threads = 256;

/// Stores into each site of one colour the XOR of its neighbours and its couplings.
template <Colour colour, class Mapping, class Layout, Load load>
__global__ void __launch_bounds__(1024)
    update(Layout layout, Word* words, Source<Word, load> others, Couplings<Word, load> couplings) {
  const Place place = Mapping::place(layout);
  if (!inside(layout, place)) return;  // whole blocks cover the places: some threads have none
  const int i = layout.element(place.x, place.y, place.z);
  const Neighbours neighbours = layout.neighbours(colour, place);

  Word word = 0;
  for (int d = 0; d < directions; ++d) {
    const int to = neighbours.to[d];
    word ^= others[to];
    // A blue site's bond is its neighbour's, in the opposite direction.
    word ^= colour == red ? couplings.along[d][i] : couplings.along[d ^ 1][to];
  }
  words[i] = word;
}

template <class Mapping, class Layout, Load load>
class Stencil : public StencilOnDevice<Layout> {
 public:
  Stencil(int size, const Launch& launch, const Layout& layout) : StencilOnDevice<Layout>(size, launch, layout) {
    if constexpr (load == Load::texture) {
      for (int c = 0; c < 2; ++c) word_textures_[c] = texture(this->words_[c]);
      for (int d = 0; d < directions; ++d) coupling_textures_[d] = texture(this->couplings_[d]);
    }
  }

 protected:
  void launch_half_sweep(Colour colour) override {
    with_constant<red, blue>(colour, [&]<int constant>() { launch<Colour(constant)>(); });
  }

 private:
  template <Colour colour>
  void launch() {
    const int threads = *this->launch_.threads;
    Couplings<Word, load> couplings;
    for (int d = 0; d < directions; ++d)
      couplings.along[d] = source<load>(words_of(this->couplings_[d]), coupling_textures_[d]);
    update<colour, Mapping><<<Mapping::grid(this->layout_, threads, 1), Mapping::block(this->layout_, threads)>>>(
        this->layout_, this->words_[colour].data(),
        source<load>(words_of(this->words_[other(colour)]), word_textures_[other(colour)]), couplings);
  }

  static const Word* words_of(const DeviceBuffer<Word>& array) { return array.data(); }
  Texture texture(const DeviceBuffer<Word>& array) const { return {array.data(), array.size(), this->launch_.device}; }

  Texture word_textures_[2], coupling_textures_[directions];
};

template <class Mapping, class Layout>
std::unique_ptr<stencil::Engine> make(int size, const Launch& launch, const Layout& layout) {
  const auto make_with = [&]<Load load>() -> std::unique_ptr<stencil::Engine> {
    return std::make_unique<Stencil<Mapping, Layout, load>>(size, launch, layout);
  };
  if (launch.load == Load::texture) return make_with.template operator()<Load::texture>();
  if (launch.load == Load::readonly) return make_with.template operator()<Load::readonly>();
  return make_with.template operator()<Load::plain>();
}

}  // namespace

std::unique_ptr<stencil::Engine> make_stencil(std::int64_t L, const Launch& wish) {
  Problem problem;
  problem.size = L;
  Offer offer{.threads = default_threads};
  for (const Indexing indexing : indexings) offer.launches.push_back({.indexing = indexing});
  const spin_glass::Launch found =
      complete(problem, {.device = wish.device, .indexing = wish.indexing, .threads = wish.threads}, offer);
  const Launch launch{wish.device, found.indexing, wish.load.value_or(Load::plain), found.threads};
  refuse_large_stencil(L, launch);

  const int size = static_cast<int>(L);
  switch (*launch.indexing) {
    case Indexing::bitwise:
      return make<Linear>(size, launch, Bitwise{std::countr_zero(static_cast<unsigned>(size))});
    case Indexing::standard:
      return make<Linear>(size, launch, Standard{size});
    case Indexing::standard_grid:
      return make<Grid>(size, launch, Standard{size});
    case Indexing::sliced:
      return make<Linear>(size, launch, Sliced{size, size});
    case Indexing::sliced_grid:
      return make<Grid>(size, launch, Sliced{size, size});
  }
  throw std::logic_error("make_stencil: an indexing that was not listed");
}

}  // namespace psflip::PSFLIP_PLATFORM
