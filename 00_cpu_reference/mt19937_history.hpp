/// The state of std::mt19937 as words of its sequence, and back.
#pragma once

#include <cstdint>
#include <random>
#include <sstream>
#include <vector>

namespace psflip::reference {

/// The 624 words that the engine's future depends on, x(n - 624) ... x(n - 1), oldest first: the seed's, then those
/// that its n numbers were tempered from.
///
/// The standard has `<<` write just these. libstdc++ writes what it has in memory: one whole block of 624 words,
/// twisted together, and how many of them are used up. So the unused ones have to go and the ones before the block come
/// back, by undoing twists: of
///     x(k + 624) = x(k + 397) ^ (joined >> 1) ^ (joined odd ? 9908b0df : 0),
///     joined = high bit of x(k), low 31 bits of x(k + 1)
/// the highest bit of the result says whether joined was odd.
inline std::vector<std::uint32_t> history_of(const std::mt19937& engine) {
  constexpr std::size_t block = 624, middle = 397;
  std::stringstream text;
  text << engine;
  std::vector<std::uint32_t> words(2 * block);  // room for the block before
  for (std::size_t i = block; i < 2 * block; ++i) {
    text >> words[i];
  }
  std::size_t used = block;
  text >> used;
  const auto joined = [&](std::size_t k) {
    const std::uint32_t twisted = words[k + block] ^ words[k + middle];
    return twisted >> 31 ? (twisted ^ 0x9908b0df) << 1 | 1 : twisted << 1;
  };
  for (std::size_t k = block; k-- > used;) {
    words[k] = (joined(k) & 0x80000000) | (joined(k - 1) & 0x7fffffff);
  }
  return {words.begin() + static_cast<std::ptrdiff_t>(used), words.begin() + static_cast<std::ptrdiff_t>(used + block)};
}

/// The engine that has this history.
inline std::mt19937 with_history(const std::vector<std::uint32_t>& words) {
  std::stringstream text;
  for (const std::uint32_t word : words) {
    text << word << ' ';
  }
  text << words.size();  // libstdc++: all are used up
  std::mt19937 engine;
  text >> engine;
  return engine;
}

}  // namespace psflip::reference
