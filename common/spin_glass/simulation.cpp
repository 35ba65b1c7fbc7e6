#include "spin_glass/simulation.hpp"

namespace psflip::spin_glass {

std::string_view name(Indexing indexing) {
  constexpr std::string_view names[] = {"standard", "bitwise", "standard-grid", "sliced", "sliced-grid"};
  return names[static_cast<int>(indexing)];
}

std::string_view name(Load load) {
  constexpr std::string_view names[] = {"plain", "readonly", "texture"};
  return names[static_cast<int>(load)];
}

std::string_view name(Kernel kernel) {
  constexpr std::string_view names[] = {"update", "wide", "fused", "resident"};
  return names[static_cast<int>(kernel)];
}

}  // namespace psflip::spin_glass
