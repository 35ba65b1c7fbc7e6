// Stage 07: asynchronous multispin coding.
//
// The spin of a site is one bit, and so is a coupling. Put the same site of 32 samples into one word: an XOR of words
// then treats 32 samples at once. How many of a site's six bonds are satisfied is counted for all of them by adders
// made of logic, and which of them flip is one formula. The samples of a word share the draw: it is compared once for
// all of them.

#include "05_sliced/mapping.hpp"
#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/multispin_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

using namespace spin_glass;

using Word = std::uint32_t;  // 32 samples

constexpr int widest_block = 1024;  // what a row needs in Grid, which has no division

// --- yours: six bits added by logic, one formula that flips 32 samples; then as in stage 05, a replica at a time
/// Two bits of three that are added: the sum's, and the carry.
__device__ void full_adder(Word a, Word b, Word c, Word& sum, Word& carry) {
  sum = a ^ b ^ c;
  carry = (a & b) | (c & (a ^ b));
}

/// All ones if true: the same answer for every sample of the word.
__device__ Word everywhere(bool answer) { return answer ? ~Word{0} : Word{0}; }

/// Metropolis, for 32 samples at once: a 1 for every sample in which the spin flips. e[d] has a 1 for every sample in
/// which the bond in direction d is satisfied. arXiv:1411.0127, section 3, with the sign set right (README).
__device__ Word flips(const Word (&e)[directions], std::uint32_t draw, const Thresholds& thresholds) {
  // (s2 s1 s0) = the number of satisfied bonds, 0 to 6, in binary.
  Word ones_a, ones_b, twos_a, twos_b, twos_c, s0, s1, s2;
  full_adder(e[0], e[1], e[2], ones_a, twos_a);
  full_adder(e[3], e[4], e[5], ones_b, twos_b);
  s0 = ones_a ^ ones_b;
  twos_c = ones_a & ones_b;
  full_adder(twos_a, twos_b, twos_c, s1, s2);

  const Word c4 = everywhere(draw < thresholds.of[2]);   // accept dE = 4: four bonds are satisfied
  const Word c8 = everywhere(draw < thresholds.of[1]);   // 8: five
  const Word c12 = everywhere(draw < thresholds.of[0]);  // 12: all six
  return c12 | ~s2 | (~s1 & (c8 | (c4 & ~s0)));          // ~s2: up to three, the energy falls or stays
}

/// Updates the sites of one colour: a thread takes a site and a word. What belongs to element i of a word is number
/// word * elements + i in couplings and streams, and (word * replicas + replica) * elements + i in the spins.
template <class Prng, Colour colour, class Mapping>
__global__ void __launch_bounds__(1024) update_sites(Sliced layout, int elements, std::int64_t words, int replicas,
                                                     Words32 arrays, StreamTable draws, ReplicaThresholds thresholds) {
  const Place place = Mapping::place(layout);
  if (!inside(layout, place)) return;  // whole blocks cover the places: some threads have none
  const int i = layout.element(place.x, place.y, place.z);
  const Neighbours neighbours = layout.neighbours(colour, place);

  for (std::int64_t word = Mapping::first_sample(); word < words; word += Mapping::sample_step()) {
    const std::int64_t first = word * elements;
    Word coupling[directions];  // a blue site's bond is its neighbour's, in the opposite direction
    for (int d = 0; d < directions; ++d)
      coupling[d] = colour == red ? arrays.couplings[d][first + i] : arrays.couplings[d ^ 1][first + neighbours.to[d]];
    typename Prng::template Streams<1> stream(
        draws.states, position_of<1>(draws, layout, layout.size, colour, place, word, first + i));

    for (int replica = 0; replica < replicas; ++replica) {
      const std::int64_t lattice = (word * replicas + replica) * elements;
      const Word* others = arrays.spins[other(colour)] + lattice;
      Word& spin = arrays.spins[colour][lattice + i];
      Word satisfied[directions];
      for (int d = 0; d < directions; ++d) satisfied[d] = ~(coupling[d] ^ spin ^ __ldg(others + neighbours.to[d]));
      spin ^= flips(satisfied, stream.draw().of[0], thresholds[replica]);
    }
    stream.store();
  }
}
// --- end

template <class Prng>
class UpdateSimulation : public MultispinSimulation<Prng> {
 public:
  using MultispinSimulation<Prng>::MultispinSimulation;

 protected:
  void launch_half_sweep(Colour colour) override {
    with_constant<red, blue>(colour, [&]<int constant>() {
      if (this->size_ <= widest_block)
        launch<Colour(constant), Grid>();
      else
        launch<Colour(constant), Linear>();
    });
  }

 private:
  template <Colour colour, class Mapping>
  void launch() {
    const Packing& packing = this->packing_;
    const int threads = *this->launch_.threads;
    update_sites<Prng, colour, Mapping>
        <<<Mapping::grid(this->layout_, threads, packing.words()), Mapping::block(this->layout_, threads)>>>(
            this->layout_, static_cast<int>(packing.half), packing.words(), packing.replicas, this->words(),
            this->draws(colour), this->thresholds_);
  }
};

}  // namespace

std::unique_ptr<Simulation> make_update(const Problem& problem, const Launch& launch) {
  return with_generator(problem.generator,
                        [&]<class Prng>() { return make_multispin<UpdateSimulation<Prng>>(problem, launch, 1); });
}

}  // namespace psflip::PSFLIP_PLATFORM
