#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace psflip {

/// An enumeration whose values have names: name(value), and all(value), a list of all values, lie beside it.
template <class T>
concept Named = std::is_enum_v<T> && requires(T value) {
  { name(value) } -> std::convertible_to<std::string_view>;
  all(value).begin();
};

template <Named T>
std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const T value : all(T{})) result.emplace_back(name(value));
  return result;
}

/// The value of that name, if there is one.
template <Named T>
std::optional<T> called(std::string_view wanted) {
  for (const T value : all(T{}))
    if (name(value) == wanted) return value;
  return std::nullopt;
}

/// "random, ordered"
inline std::string joined(const std::vector<std::string>& words, const std::string& between = ", ") {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : between) + word;
  return result;
}

}  // namespace psflip
