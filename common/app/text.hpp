/// Names, numbers and lists as text.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace psflip {

/// An enumeration whose values have names: names_of(value), beside it, lists those of all values, which count from 0.
template <class T>
concept Named = std::is_enum_v<T> && requires(T value) {
  { names_of(value).front() } -> std::convertible_to<std::string_view>;
};

template <Named T>
constexpr std::string_view name(T value) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

template <Named T>
std::vector<std::string> names() {
  const auto all = names_of(T{});
  return {all.begin(), all.end()};
}

template <Named T>
constexpr auto values() {
  std::array<T, names_of(T{}).size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<T>(i);
  return all;
}

/// The value of that name, if there is one.
template <Named T>
std::optional<T> called(std::string_view wanted) {
  for (const T value : values<T>())
    if (name(value) == wanted) return value;
  return std::nullopt;
}

/// The number that all of the text is, if it is one that T can hold: every number of every file and option is read
/// here. A whole number is in decimal digits, without a zero in front (no 010, no -0). Any other is finite, as in 0.5,
/// .5 or -1e-3. No blanks, no plus, no 0x.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  if constexpr (std::integral<T>) {
    if (text != "0" && text.substr(text.starts_with('-')).starts_with('0')) return std::nullopt;
  } else {
    if (!std::isfinite(number)) return std::nullopt;
  }
  return number;
}

inline std::string replaced(std::string text, char old, char replacement) {
  std::ranges::replace(text, old, replacement);
  return text;
}

/// "random, ordered"
inline std::string joined(const std::vector<std::string>& words, const std::string& between = ", ") {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : between) + word;
  return result;
}

}  // namespace psflip
