/// What the tests of the generators ask of a platform: numbers of many streams, drawn by a kernel.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "06_prng/generators/generator.hpp"

namespace psflip::prng {

enum class Kind { minstd, parisi_rapuano, mt19937, philox, philox_7 };

/// Streams 0 .. streams - 1 of a group, as the contract seeds them.
struct Task {
  Kind kind = Kind::minstd;
  int bundle = 1;  ///< streams a thread: 1, 2, 4 or 8; divides `streams`
  std::int64_t streams = 1;
  std::uint64_t seed = 1;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> states{};  ///< to begin with, word i of stream id at [i * streams + id]; none: seeded
  std::int64_t first = 0;               ///< number of the first draw
  std::int64_t draws = 1;
  std::int64_t draws_per_launch = std::numeric_limits<std::int64_t>::max();
};

struct Result {
  std::vector<std::uint32_t> numbers;  ///< draw first + i of stream id at [i * streams + id]
  std::vector<std::uint32_t> states;   ///< afterwards
  friend bool operator==(const Result&, const Result&) = default;
};

/// The streams from `id` on, before draw number n.
template <class Generator, int s>
PSFLIP_HOST_DEVICE Position<s> position(std::int64_t id, std::int64_t n, std::uint64_t seed, std::uint32_t group) {
  Position<s> at{id, n, static_cast<int>(n % (Generator::words > 0 ? Generator::words : 1)), seed, group, {}};
  for (int k = 0; k < s; ++k) at.site[k] = static_cast<std::uint32_t>(id + k);
  return at;
}

/// What a thread does: some numbers of s streams, number i to numbers[i * streams + id].
template <class Generator, int s>
PSFLIP_HOST_DEVICE void draw_some(std::uint32_t* numbers, const States& states, const Position<s>& at,
                                  std::int64_t draws) {
  typename Generator::template Streams<s> streams(states, at);
  States target{numbers, states.count};
  for (std::int64_t i = 0; i < draws; ++i, target.words += states.count) target.store<s>(0, at.id, streams.draw());
  streams.store();
}

using RunTask = Result(const Task& task);

}  // namespace psflip::prng

namespace psflip::cpu {
prng::RunTask run_task;  ///< as CUDA on host threads
}
namespace psflip::gpu {
prng::RunTask run_task;  ///< on the first GPU
}
