#pragma once

#include <stdexcept>

namespace psflip {

/// Calls f.operator()<v>() for the one v of `values` that equals `value`: a run-time number becomes a constant that
/// the compiler can unroll loops with. All calls return the same type.
template <int first, int... others, class F>
auto with_constant(int value, F f) {
  if constexpr (sizeof...(others) > 0)
    if (value != first) return with_constant<others...>(value, f);
  if (value != first) throw std::logic_error("with_constant: a value that was not listed");
  return f.template operator()<first>();
}

}  // namespace psflip
