/// The generator of G. Parisi and F. Rapuano (Physics Letters B 157, 1985), as its definition says.
#pragma once

#include <cstdint>
#include <deque>

#include "random/streams.hpp"

namespace psflip::reference {

/// wheel[i] = wheel[i - 24] + wheel[i - 55] modulo 2^32; the output is wheel[i] ^ wheel[i - 61]. The sum is stored, not
/// the output: the GTC 2015 poster has it the other way round, which is another generator.
class ParisiRapuano {
 public:
  /// A history of 61 words, oldest first.
  template <class NextWord>
  explicit ParisiRapuano(NextWord next_word) {
    while (wheel_.size() < 61) {
      wheel_.push_back(next_word());
    }
  }
  /// The stream of a seed: the history is the high halves of 61 words of SplitMix64.
  static ParisiRapuano seeded(std::uint64_t seed) {
    return ParisiRapuano([words = SplitMix64(seed)]() mutable { return static_cast<std::uint32_t>(words() >> 32); });
  }

  /// The last 61 words of the wheel, oldest first: all that the numbers to come depend on.
  const std::deque<std::uint32_t>& history() const { return wheel_; }

  /// The next number, 0 .. 2^32 - 1.
  std::uint32_t operator()() {
    const std::uint32_t sum = wheel_[61 - 24] + wheel_[61 - 55];
    const std::uint32_t oldest = wheel_[61 - 61];
    wheel_.pop_front();
    wheel_.push_back(sum);
    return sum ^ oldest;
  }

 private:
  std::deque<std::uint32_t> wheel_;
};

}  // namespace psflip::reference
