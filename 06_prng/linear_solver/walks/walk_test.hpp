/// What the tests of the walks have of cuRAND: xorwow_test.cu, where the CUDA toolkit has its device generators.
#pragma once

#include <cstdint>
#include <vector>

namespace psflip::linear {

/// The first words of cuRAND's own XORWOW after curand_init(seed, subsequence, 0), made on the host.
std::vector<std::uint32_t> curand_words(std::uint64_t seed, std::uint64_t subsequence, int count);
/// The same of curand_uniform_double().
std::vector<double> curand_numbers(std::uint64_t seed, std::uint64_t subsequence, int count);
/// The first words of the streams of linear::Xorwow that gpu::seed_subsequences seeds from stream `first` on: word i of
/// stream id at [id * count + i]. Needs a GPU.
std::vector<std::uint32_t> subsequence_words(std::uint64_t seed, std::int64_t first, int streams, int count);

}  // namespace psflip::linear
