/// How an engine of the 2D model is to be run.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "gpu/launch_fields.hpp"

namespace psflip::majority {

/// How a device stores one spin: a 32-bit int, as in the report that the stages with an array of numbers follow, one
/// byte, or one bit.
enum class Storage { int32, int8, bit };

constexpr std::array<std::string_view, 3> names_of(Storage) { return {"int32", "int8", "bit"}; }
constexpr double bytes_per_spin(Storage storage) {
  return storage == Storage::int32 ? 4 : storage == Storage::int8 ? 1 : 0.125;
}

/// How an engine is to be run. Nothing here changes a bit of the result. What is left empty, the stage chooses.
struct Launch {
  int device = 0;  ///< device number within the platform
  std::optional<Storage> storage{};
  std::optional<int> thread_width{};    ///< threads along each side of a square thread block
  std::optional<int> block{};           ///< spins along each side of the square that one thread computes
  std::optional<int> steps_per_pass{};  ///< steps that are computed while the lattice is read and written once, at most
};

using LaunchField = psflip::FieldOf<Launch>;
/// All but `device`.
const std::vector<LaunchField>& launch_fields(const Launch& = {});

}  // namespace psflip::majority
