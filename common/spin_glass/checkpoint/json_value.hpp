#pragma once

#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace psflip::spin_glass {

/// The value, if it is one of just this type that T can hold. The library's own get() makes whole numbers of 1.5 and of
/// true, and anything of 1e300.
template <class T>
std::optional<T> value_in(const nlohmann::ordered_json& json) {
  if constexpr (std::same_as<T, bool>) {
    return json.is_boolean() ? std::optional(json.get<bool>()) : std::nullopt;
  } else if constexpr (std::same_as<T, std::string>) {
    return json.is_string() ? std::optional(json.get<std::string>()) : std::nullopt;
  } else if constexpr (std::floating_point<T>) {
    return json.is_number() ? std::optional(json.get<T>()) : std::nullopt;
  } else {
    const auto fitting = [](std::integral auto number) {
      return std::in_range<T>(number) ? std::optional(static_cast<T>(number)) : std::nullopt;
    };
    if (json.is_number_unsigned()) return fitting(json.get<std::uint64_t>());
    if (json.is_number_integer()) return fitting(json.get<std::int64_t>());
    return std::nullopt;
  }
}

}  // namespace psflip::spin_glass
