/// The streams of this stage from generators that share no code with it: those of the standard library and stage 00.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>

#include "00_cpu_reference/parisi_rapuano.hpp"
#include "00_cpu_reference/philox.hpp"
#include "random/streams.hpp"

namespace psflip::prng {

/// Philox4x32 with a choice of rounds, which stage 00 does not offer. With ten, the same as stage 00's.
inline std::array<std::uint32_t, 4> philox_rounds(int rounds, std::array<std::uint32_t, 4> x, std::uint64_t key) {
  std::uint32_t low_key = static_cast<std::uint32_t>(key), high_key = static_cast<std::uint32_t>(key >> 32);
  while (rounds-- > 0) {
    const std::uint64_t a = 3528531795ULL * x[0], b = 3449720151ULL * x[2];
    x = {static_cast<std::uint32_t>(b >> 32 ^ x[1] ^ low_key), static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32 ^ x[3] ^ high_key), static_cast<std::uint32_t>(a)};
    low_key += 2654435769U;
    high_key += 3144134277U;
  }
  return x;
}

/// The numbers of stream `id` of group 0, one a call, from the first on.
inline std::function<std::uint32_t()> reference_stream(const std::string& generator, std::uint64_t seed,
                                                       std::int64_t id) {
  const std::uint64_t own_seed = stream_seed(seed, 0, static_cast<std::uint64_t>(id));
  if (generator == "minstd")  // 1 .. 2^31 - 2, and we count from 0
    return [engine = std::minstd_rand0(static_cast<std::uint32_t>(1 + own_seed % 2147483646))]() mutable {
      return static_cast<std::uint32_t>(engine()) - 1;
    };
  if (generator == "mt19937")
    return [engine = std::mt19937(static_cast<std::uint32_t>(own_seed))]() mutable {
      return static_cast<std::uint32_t>(engine());
    };
  if (generator == "parisi-rapuano") return reference::ParisiRapuano::seeded(own_seed);
  if (generator != "philox" && generator != "philox-7")
    throw std::logic_error("reference_stream: " + generator + " is not known");
  return [seven = generator == "philox-7", seed, site = static_cast<std::uint32_t>(id),
          n = std::uint64_t{0}]() mutable {
    const std::array<std::uint32_t, 4> counter = {site, 0, static_cast<std::uint32_t>(n / 4), 0};
    const auto words = seven ? philox_rounds(7, counter, seed)
                             : reference::philox4x32_10(
                                   counter, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    return words[n++ % 4];
  };
}

}  // namespace psflip::prng
