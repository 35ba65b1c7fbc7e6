/// Raw random numbers of many streams, for whoever wants to test them: what the program `generate` writes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace psflip::prng {

struct NumbersRequest {
  /// minstd, parisi-rapuano, mt19937, philox, philox-planes; or parisi-rapuano-poster, as the poster at GTC 2015 has
  /// it: wrong. With philox-planes stream `id` is that of bit id mod 32 of word id / 32, and its number n the draw of
  /// replica n mod 4 in sweep n / 4 of sample 0.
  std::string generator = "minstd";
  /// Stream `id` begins from stream_seed(seed, 0, id), by the contract (random/streams.hpp), or badly, from the number
  /// seed + id: MINSTD has it as its state (modulo 2^31 - 2, from 1), MT19937 as its seed (modulo 2^32), and
  /// Parisi-Rapuano's history is what that MINSTD draws.
  bool consecutive_seeds = false;
  std::int64_t streams = 1;  ///< 1 to 2^24
  std::uint64_t seed = 1;
  int device = 0;
};

/// Many streams on a device. Members may throw std::runtime_error if the device fails.
class Numbers {
 public:
  virtual ~Numbers() = default;
  /// The next `steps` numbers of every stream, at most most_steps(): number k of stream id is the result's element
  /// k * streams + id. The result is good until the next call.
  virtual const std::uint32_t* next(std::int64_t steps) = 0;
  /// How many steps fit into its buffer: 2 or more.
  virtual std::int64_t most_steps() const = 0;
};

/// Throws InvalidInput if the states need more memory than the device has, or for Philox, in words or planes, with
/// consecutive seeds, which would have to be those of a state.
using MakeNumbers = std::unique_ptr<Numbers>(const NumbersRequest& request);

}  // namespace psflip::prng

namespace psflip::cpu {
prng::MakeNumbers make_numbers;  ///< as CUDA on host threads
}
namespace psflip::gpu {
prng::MakeNumbers make_numbers;  ///< on a GPU
}
