// The majority of five against the sum of five, and why it cannot be had for less.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>

#include "07_amsc/majority/majority_of_five.hpp"

namespace psflip {
namespace {

/// Variable v for all 32 values of five variables: bit i is bit v of i. A function of five variables is a word, too.
constexpr std::array<std::uint32_t, 5> variables = {0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000};

std::uint32_t truth_table() {
  std::uint32_t table = 0;
  for (unsigned inputs = 0; inputs < 32; ++inputs) {
    table |= static_cast<std::uint32_t>(std::popcount(inputs) >= 3) << inputs;
  }
  return table;
}

TEST(MajorityOfFive, IsTheSignOfTheSumForAllInputsInAnyOrder) {
  const auto [a, b, c, d, e] = variables;
  const std::uint32_t orders[] = {majority_of_five(a, b, c, d, e), majority_of_five(e, d, c, b, a),
                                  majority_of_five(c, d, e, a, b), majority_of_five(b, e, a, d, c)};
  for (const std::uint32_t order : orders) {
    EXPECT_EQ(order, truth_table());
  }
}

/// Any operation of three inputs, as LOP3 does it: bit 4 a + 2 b + c of `table` is the result for a, b, c.
std::uint32_t operation(unsigned table, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    if ((table >> i & 1) != 0) {
      result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
    }
  }
  return result;
}

/// Whether some operation of a, b, c gives the wanted word: nowhere may equal inputs need different results.
bool is_an_operation_of(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t wanted) {
  for (unsigned i = 0; i < 8; ++i) {
    const std::uint32_t here = operation(1U << i, a, b, c);
    if ((here & wanted) != 0 && (here & ~wanted) != 0) {
      return false;
    }
  }
  return true;
}

/// Whether operation(x, y, z) can be `wanted` for three of the first `count` words, one of them the last.
bool ends_in(const std::array<std::uint32_t, 7>& words, int count, std::uint32_t wanted) {
  for (int i = 0; i < count - 1; ++i) {
    for (int j = i + 1; j < count - 1; ++j) {
      if (is_an_operation_of(words[i], words[j], words[count - 1], wanted)) {
        return true;
      }
    }
  }
  return false;
}

TEST(MajorityOfFive, TakesFourOperations) {
  const auto [a, b, c, d, e] = variables;
  // The first operation reads variables only, and the function has no preferred ones: a, b and c. It does not matter
  // which operation it is but for its complement, which the next one can undo: 128 tables.
  for (unsigned first = 0; first < 128; ++first) {
    std::array<std::uint32_t, 7> words = {a, b, c, d, e, operation(first, a, b, c)};
    EXPECT_FALSE(ends_in(words, 6, truth_table())) << "two operations, the first " << first;
    for (int i = 0; i < 6; ++i) {
      for (int j = i + 1; j < 6; ++j) {
        for (int k = j + 1; k < 6; ++k) {
          for (unsigned second = 0; second < 128; ++second) {
            words[6] = operation(second, words[i], words[j], words[k]);
            ASSERT_FALSE(ends_in(words, 7, truth_table()))
                << "three operations, the first " << first << ", the second " << second;
          }
        }
      }
    }
  }
}

TEST(MajorityOfFive, IsFoundByTheSearchThatDeniesIt) {
  // With the sum, the carry and the rest given, one operation is left; were it not found, the search would prove
  // nothing.
  const auto [a, b, c, d, e] = variables;
  const std::uint32_t sum = a ^ b ^ c;
  EXPECT_TRUE(ends_in({sum, majority_of_three(a, b, c), majority_of_three(d, e, ~sum)}, 3, truth_table()));
  EXPECT_FALSE(ends_in({sum, majority_of_three(a, b, c), d & e}, 3, truth_table()));
}

}  // namespace
}  // namespace psflip
