/// The same two benchmarks with NVIDIA's cuRAND. On a GPU only, and only if the build found cuRAND.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "06_prng/fill/fill.hpp"

namespace psflip::prng {

/// Of cuRAND's host interface, which fills arrays.
inline const std::vector<std::string> curand_fillers = {"curand-xorwow", "curand-mtgp32", "curand-mt19937",
                                                        "curand-philox", "curand-mrg32k3a"};
/// Of cuRAND's device interface, whose numbers a kernel takes one by one.
inline const std::vector<std::string> curand_counters = {"curand-xorwow", "curand-mtgp32", "curand-philox",
                                                         "curand-mrg32k3a"};
/// Which number comes where in an array: as in all versions of cuRAND, or as it is fastest on this GPU.
inline const std::vector<std::string> curand_orderings = {"default", "dynamic"};

/// Limits of MTGP32: there are 200 sets of parameters, one a block, whose threads step together.
inline constexpr int mtgp32_blocks = 200, mtgp32_threads = 256;

}  // namespace psflip::prng

namespace psflip::gpu {

/// Numbers in (0, 1], by curandGenerateUniform. seed() makes the generator anew and takes the host's time. Throws
/// InvalidInput for an ordering that the generator does not have.
std::unique_ptr<prng::Filler> make_curand_filler(const std::string& generator, const std::string& ordering,
                                                 std::int64_t elements, std::uint64_t seed, int device);

/// shape.streams: threads, with a stream each; shape.per_thread is 1. Stream id is cuRAND's sequence `id` of the seed;
/// with MTGP32 a block has a sequence, so `threads` has to divide `streams`.
std::unique_ptr<prng::OddCounter> make_curand_counter(const std::string& generator, std::uint64_t seed,
                                                      const prng::Shape& shape);

}  // namespace psflip::gpu
