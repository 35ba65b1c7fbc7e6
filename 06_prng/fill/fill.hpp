/// Random numbers and nothing else: how fast a generator fills an array, and how fast its numbers can be had in a
/// kernel. These are the two benchmarks of Lulli, Bernaschi and Parisi (arXiv:1411.0127, Tables I and II).
///
/// Stream id of a seed is that of site `id` of group 0 (random/streams.hpp); `streams` of them lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/host_device.hpp"
#include "random/streams.hpp"

namespace psflip::prng {

/// What we have: minstd, parisi-rapuano, mt19937, philox, philox-7 (with seven rounds).
inline const std::vector<std::string> own_generators = {"minstd", "parisi-rapuano", "mt19937", "philox", "philox-7"};

/// Bits of a generator's numbers: MINSTD gives 0 .. 2^31 - 3, the others 0 .. 2^32 - 1.
inline int bits_of(const std::string& generator) { return generator == "minstd" ? 31 : 32; }

/// The upper 24 bits of a number as a float in [0, 1). Nothing is rounded, so the CPU and the GPU have the same bits.
PSFLIP_HOST_DEVICE inline float unit_float(std::uint32_t number, int bits) {
  return static_cast<float>(number >> (bits - 24)) * 0x1p-24F;
}

/// Who draws.
struct Shape {
  std::int64_t streams = 0;  ///< 1 or more
  int per_thread = 1;        ///< streams in the hands of a thread: 1, 2 or 4
  int threads = 256;         ///< of a block, 1 to 1024
  int device = 0;
};

/// What there is to say about an array of floats.
struct Sums {
  std::uint64_t checksum = 0;  ///< of all bits in their places: the sum of mix(mix(i) + bits) modulo 2^64
  double mean = 0;             ///< of those in [0, 1]
  std::uint64_t outside = 0;   ///< how many are not in [0, 1]
};

/// The streams' states.
struct StateSize {
  double bytes = 0;          ///< of all
  double bytes_per_draw = 0; /**< that move between memory and the device for one number: of the timed kernel, which
                                  draws many numbers in a row. NaN: unknown, another's code */
};

// Every member below may throw std::runtime_error if the device fails. Times are the device's own, in seconds.

/// Streams that one of the two benchmarks draws from.
class Drawer {
 public:
  virtual ~Drawer() = default;
  /// Puts all streams at their beginning, and counts to zero; returns the time for that. A new one is there already.
  virtual double seed() = 0;
};

/// Benchmark (a): an array full of numbers. Number n of stream id stands at n * streams + id.
class Filler : public Drawer {
 public:
  /// Overwrites the array with the next numbers; returns the time. All streams draw equally often: if the array's
  /// length is no multiple of `streams`, the last number of some is dropped.
  virtual double fill() = 0;
  virtual Sums sums() const = 0;
  /// The elements first, first + step, first + 2 step, ... of the array.
  virtual std::vector<float> elements(std::int64_t first, std::int64_t step) const = 0;
  virtual StateSize state() const = 0;
};

/// Benchmark (b): numbers that a kernel only looks at. It counts the odd ones.
class OddCounter : public Drawer {
 public:
  /// Draws that often from each stream, in one launch.
  virtual double count(std::int64_t draws) = 0;
  /// Odd numbers since the beginning, of each stream.
  virtual std::vector<std::uint32_t> odd() const = 0;
  /// `draws`: of each stream in one launch.
  virtual StateSize state(std::int64_t draws) const = 0;
};

/// What a platform offers. Throws InvalidInput for a shape that cannot be, or for more than the device's memory.
struct Makers {
  std::unique_ptr<Filler> (*filler)(const std::string& generator, std::int64_t elements, std::uint64_t seed,
                                    const Shape& shape);
  std::unique_ptr<OddCounter> (*counter)(const std::string& generator, std::uint64_t seed, const Shape& shape);
  /// Bytes a second of writing and nothing else: `bytes` of zeros by cudaMemset or by a kernel, the median.
  double (*write_bandwidth)(int device, std::size_t bytes, bool by_kernel, int repetitions);
  std::size_t (*l2_bytes)(int device);  ///< 0: not known
  /// Threads that the device can hold at once.
  std::int64_t (*resident_threads)(int device);
};

}  // namespace psflip::prng

namespace psflip::cpu {
extern const prng::Makers fill_makers;  ///< as CUDA on host threads
}
namespace psflip::gpu {
extern const prng::Makers fill_makers;  ///< on a GPU
}
