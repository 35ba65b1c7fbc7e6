/// Two of cuRAND's device generators, XORWOW and Philox4x32-10, in the form of this stage's own (generator.hpp).
///
/// One of cuRAND's structs for every stream, one after the other, fetched before the first number and put back after
/// the last, as cuRAND's manual does it. They also hold what normal deviates would need, and Philox holds numbers made
/// ahead: XORWOW steps with 24 of its 48 bytes. And neighbouring threads read 48 or 64 bytes apart.
#pragma once

#include <curand_kernel.h>

#include "06_prng/generators/generator.hpp"

namespace psflip::prng {

template <class State>
struct Curand {
  static_assert(sizeof(State) % 16 == 0);  // so that no State begins in the middle of one of its own vectors
  static constexpr int words = sizeof(State) / 4;

  /// The whole struct in and out, however many numbers it gives.
  static constexpr double bytes(double /*draws*/) { return 2 * sizeof(State); }

  /// A seed for every stream, subsequence 0. The manual has one seed and a subsequence for every stream, which no two
  /// can share; but then XORWOW has to jump ahead with matrices, and seeding takes longer than many sweeps. Seeds
  /// of 32 bits correlate the first numbers of an XORWOW stream; hashed ones of 64 bits, as here, do not.
  __device__ static void seed(const States& states, std::int64_t id, std::uint64_t stream_seed) {
    State state;
    curand_init(stream_seed, 0, 0, &state);
    of(states)[id] = state;
  }

  template <int s>
  class Streams {
   public:
    __device__ Streams(const States& states, const Position<s>& position) : home_(of(states) + position.id) {
      for (int k = 0; k < s; ++k) states_[k] = home_[k];
    }

    /// 0 .. 2^32 - 1
    __device__ Words<s> draw() {
      Words<s> draws;
      for (int k = 0; k < s; ++k) draws.of[k] = curand(&states_[k]);
      return draws;
    }

    __device__ void store() {
      for (int k = 0; k < s; ++k) home_[k] = states_[k];
    }

   private:
    State* home_;
    State states_[s];
  };

 private:
  __device__ static State* of(const States& states) { return reinterpret_cast<State*>(states.words); }
};

using CurandXorwow = Curand<curandStateXORWOW_t>;
using CurandPhilox = Curand<curandStatePhilox4_32_10_t>;

}  // namespace psflip::prng
