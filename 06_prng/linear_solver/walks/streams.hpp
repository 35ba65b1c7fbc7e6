/// The random streams of the histories: numbers in (0, 1], each made of two 32-bit words.
///
/// A kernel gets them as a value `streams`: streams.open(number, id) is the stream with that number, which has place
/// `id` among those of the launch; its next() draws, and skip(n) leaves n numbers out.
#pragma once

#include <cstdint>

#include "06_prng/generators/philox.hpp"
#include "06_prng/linear_solver/walks/walks.hpp"
#include "06_prng/linear_solver/walks/xorwow.hpp"
#include "gpu/host_device.hpp"
#include "random/streams.hpp"

namespace psflip::linear {

/// A number in (0, 1] with 53 random bits: curand_uniform_double's construction.
PSFLIP_HOST_DEVICE inline double uniform(std::uint32_t x, std::uint32_t y) {
  return static_cast<double>(x ^ std::uint64_t{y} << 21) * 0x1p-53 + 0x1p-54;
}

/// Philox needs no memory: words 4 i .. 4 i + 3 of a stream have counter (number, i, tag) and the seed as their key.
struct PhiloxStreams {
  std::uint64_t seed;

  class Stream {
   public:
    PSFLIP_HOST_DEVICE Stream(std::uint64_t seed, std::int64_t number) : seed_(seed), number_(number) {}

    PSFLIP_HOST_DEVICE double next() {
      const bool second = n_ % 2 == 1;
      if (!second || !hashed_) {
        const prng::Quadruple words = prng::philox4x32<10>(
            {{static_cast<std::uint32_t>(number_), static_cast<std::uint32_t>(number_ >> 32), n_ / 2, tag}},
            static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32));
        first_ = uniform(words.of[0], words.of[1]);
        second_ = uniform(words.of[2], words.of[3]);
        hashed_ = true;
      }
      ++n_;
      return second ? second_ : first_;
    }

    PSFLIP_HOST_DEVICE void skip(int numbers) {
      n_ += static_cast<std::uint32_t>(numbers);
      hashed_ = false;
    }

   private:
    static constexpr std::uint32_t tag = 1;  // 0: spins

    std::uint64_t seed_;
    std::int64_t number_;
    std::uint32_t n_ = 0;  ///< number of the next
    double first_ = 0, second_ = 0;
    bool hashed_ = false;
  };

  PSFLIP_HOST_DEVICE Stream open(std::int64_t number, std::int64_t /*id*/) const { return {seed, number}; }
};

/// XORWOW needs states, which a kernel has seeded before.
struct XorwowStreams {
  States states;

  class Stream {
   public:
    PSFLIP_HOST_DEVICE explicit Stream(const Xorwow& generator) : generator_(generator) {}

    PSFLIP_HOST_DEVICE double next() {
      const std::uint32_t x = generator_.next();
      return uniform(x, generator_.next());
    }

    PSFLIP_HOST_DEVICE void skip(int numbers) {
      for (int i = 0; i < numbers; ++i) next();
    }

   private:
    Xorwow generator_;
  };

  PSFLIP_HOST_DEVICE Stream open(std::int64_t /*number*/, std::int64_t id) const { return Stream(Xorwow(states, id)); }
};

/// The seed of a stream of XORWOW that curand_init gets. Not for Seeding::subsequences, which have one seed.
PSFLIP_HOST_DEVICE inline std::uint64_t xorwow_seed(Seeding seeding, std::uint64_t seed, std::int64_t number) {
  if (seeding == Seeding::consecutive) return static_cast<std::uint32_t>(seed + static_cast<std::uint64_t>(number));
  const std::uint64_t hashed = stream_seed(seed, 0, static_cast<std::uint64_t>(number));
  return seeding == Seeding::random ? hashed >> 32 : hashed;
}

}  // namespace psflip::linear
