/// Philox4x32 of Salmon, Moraes, Dror and Shaw (SC 2011): numbers by hashing a counter, without any state.
#pragma once

#include "06_prng/generators/generator.hpp"

namespace psflip::prng {

struct Quadruple {
  std::uint32_t of[4];
};

/// All 64 bits. One operation on a GPU, where nvcc, left alone, goes over to 64-bit arithmetic and needs three.
PSFLIP_HOST_DEVICE inline std::uint64_t product(std::uint32_t a, std::uint32_t b) {
#ifdef __CUDA_ARCH__
  std::uint64_t result;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(result) : "r"(a), "r"(b));
  return result;
#else
  return std::uint64_t{a} * b;
#endif
}

/// One round, with its key.
PSFLIP_HOST_DEVICE inline Quadruple philox_round(const Quadruple& counter, std::uint32_t key_0, std::uint32_t key_1) {
  const std::uint64_t product_0 = product(0xd2511f53, counter.of[0]);
  const std::uint64_t product_2 = product(0xcd9e8d57, counter.of[2]);
  return {{static_cast<std::uint32_t>(product_2 >> 32) ^ counter.of[1] ^ key_0, static_cast<std::uint32_t>(product_2),
           static_cast<std::uint32_t>(product_0 >> 32) ^ counter.of[3] ^ key_1, static_cast<std::uint32_t>(product_0)}};
}

/// Four random words for a counter and a key. Ten rounds are the authors' choice; seven are the fewest that pass their
/// tests.
template <int rounds>
PSFLIP_HOST_DEVICE Quadruple philox4x32(Quadruple counter, std::uint32_t key_0, std::uint32_t key_1) {
  for (int round = 0; round < rounds; ++round) {
    counter = philox_round(counter, key_0, key_1);
    key_0 += 0x9e3779b9;
    key_1 += 0xbb67ae85;
  }
  return counter;
}

/// The keys of all rounds, made once: a kernel that computes many quadruples at once finds them among its parameters,
/// and needs no registers for them.
template <int rounds>
struct PhiloxKeys {
  std::uint32_t of[rounds][2];

  explicit PhiloxKeys(std::uint64_t seed) {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      of[round][0] = static_cast<std::uint32_t>(seed) + round * 0x9e3779b9;
      of[round][1] = static_cast<std::uint32_t>(seed >> 32) + round * 0xbb67ae85;
    }
  }
};
template <int rounds>
PSFLIP_HOST_DEVICE Quadruple philox4x32(Quadruple counter, const PhiloxKeys<rounds>& keys) {
  for (int round = 0; round < rounds; ++round) counter = philox_round(counter, keys.of[round][0], keys.of[round][1]);
  return counter;
}

/// Number n of a stream is word n mod 4 of the quadruple with key = seed, counter = (site, group, n / 4, 0).
template <int rounds = 10>
struct Philox {
  static constexpr int words = 0;
  static constexpr int history = 0;

  static constexpr double bytes(double /*draws*/) { return 0; }

  PSFLIP_HOST_DEVICE static void seed(const States&, std::int64_t, std::uint64_t) {}

  template <int s>
  class Streams {
   public:
    PSFLIP_HOST_DEVICE Streams(const States&, const Position<s>& position) : at_(position) {
      hash();
      for (int used = static_cast<int>(position.n & 3); used > 0; --used) move_up();
    }

    /// 0 .. 2^32 - 1
    PSFLIP_HOST_DEVICE Words<s> draw() {
      if (started_ && (at_.n & 3) == 0) hash();
      started_ = true;
      Words<s> draws;
      for (int k = 0; k < s; ++k) draws.of[k] = ahead_[k].of[0];
      move_up();
      ++at_.n;
      return draws;
    }

    /// Whole quadruples, which need not be handed out word by word.
    template <int many>
    PSFLIP_HOST_DEVICE void draw_several(Words<s> (&draws)[many]) {
      static_assert(many % 4 == 0);
      for (int i = 0; i < many; i += 4) {
        if (started_) hash();
        started_ = true;
        for (int word = 0; word < 4; ++word)
          for (int k = 0; k < s; ++k) draws[i + word].of[k] = ahead_[k].of[word];
        at_.n += 4;
      }
    }

    /// Leaves out whole quadruples.
    PSFLIP_HOST_DEVICE void skip(int many) { at_.n += many; }

    PSFLIP_HOST_DEVICE void store() {}  // there is nothing

   private:
    PSFLIP_HOST_DEVICE void hash() {
      for (int k = 0; k < s; ++k)
        ahead_[k] =
            philox4x32<rounds>({{at_.site[k], at_.group, static_cast<std::uint32_t>(at_.n >> 2), 0}},
                               static_cast<std::uint32_t>(at_.seed), static_cast<std::uint32_t>(at_.seed >> 32));
    }
    /// The next word comes first. An index that changes at run time would put the words into memory.
    PSFLIP_HOST_DEVICE void move_up() {
      for (int k = 0; k < s; ++k) ahead_[k] = {{ahead_[k].of[1], ahead_[k].of[2], ahead_[k].of[3], 0}};
    }

    Position<s> at_;
    Quadruple ahead_[s];
    bool started_ = false;
  };
};

}  // namespace psflip::prng
