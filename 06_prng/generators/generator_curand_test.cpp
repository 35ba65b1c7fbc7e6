// The generators against those of cuRAND that are meant to be the same. cuRAND has them on the host too, without a GPU.
#include <curand.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "06_prng/generators/generator_test.hpp"
#include "06_prng/generators/mt19937.hpp"
#include "06_prng/generators/philox.hpp"

namespace psflip::prng {
namespace {

using Numbers = std::vector<std::uint32_t>;

Numbers from_curand(curandRngType_t type, std::uint64_t seed, std::size_t count) {
  curandGenerator_t generator = nullptr;
  EXPECT_EQ(curandCreateGeneratorHost(&generator, type), CURAND_STATUS_SUCCESS);
  EXPECT_EQ(curandSetPseudoRandomGeneratorSeed(generator, seed), CURAND_STATUS_SUCCESS);
  Numbers numbers(count);
  EXPECT_EQ(curandGenerate(generator, numbers.data(), count), CURAND_STATUS_SUCCESS);
  EXPECT_EQ(curandDestroyGenerator(generator), CURAND_STATUS_SUCCESS);
  return numbers;
}

// cuRAND's sequence n has counters (k, 0, n, 0), and its host generator takes quadruple k of 65,536 sequences before
// quadruple k + 1 of any. What it calls k is a site here, what it calls a sequence is n / 4.
TEST(CuRand, HasTheSamePhilox) {
  const std::size_t draws = 4 * 65'536, sites = 4;
  for (const std::uint64_t seed : {std::uint64_t{5489}, std::uint64_t{0x123456789abcdef}}) {
    const Numbers theirs = from_curand(CURAND_RNG_PSEUDO_PHILOX4_32_10, seed, draws * sites);
    Numbers ours(draws * sites);
    draw_some<Philox<>, 4>(ours.data(), {nullptr, sites}, position<Philox<>, 4>(0, 0, seed, 0), draws);
    for (std::size_t site = 0; site < sites; ++site)
      for (std::size_t n = 0; n < draws; ++n)
        ASSERT_EQ(ours[n * sites + site], theirs[site * draws + n]) << "site " << site << ", draw " << n;
  }
}

// cuRAND's MT19937 interleaves streams, of which std::mt19937(seed) is one, in an order that suits its threads and that
// nobody documents. So ours have to be among its numbers: a wrong one would be there once in 400 cases.
TEST(CuRand, HasTheSameMersenneTwister) {
  const std::size_t draws = 2 * 624;  // twice around the wheel
  const std::uint32_t seed = 123456789;
  const Numbers theirs = from_curand(CURAND_RNG_PSEUDO_MT19937, seed, 160 * 65'536);
  Numbers ours(draws), words(Mt19937::words);
  const States states{words.data(), 1};
  Mt19937::seed(states, 0, seed);
  draw_some<Mt19937, 1>(ours.data(), states, position<Mt19937, 1>(0, 0, 0, 0), draws);
  std::unordered_set<std::uint32_t> missing(ours.begin(), ours.end());
  for (const std::uint32_t number : theirs) missing.erase(number);
  EXPECT_EQ(missing.size(), 0U) << "of " << draws << " draws";
}

}  // namespace
}  // namespace psflip::prng
