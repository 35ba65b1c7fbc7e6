/// How an engine of the 3D model is to be run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/launch_fields.hpp"

namespace psflip::spin_glass {

/// How a thread finds its site and the site's neighbours. "Grid": its coordinates are those of the thread in the grid.
enum class Indexing { standard, bitwise, standard_grid, sliced, sliced_grid };
/// How a kernel reads what it does not write: by a plain pointer, through the read-only path, or as a linear texture.
enum class Load { plain, readonly, texture };
/// Which of a stage's kernels, where it has several (whose files have these names).
enum class Kernel { update, wide, overlapped, resident, small, synchronous, spread };
/// How a boundary plane gets to the neighbouring rank of MPI, where there are several.
enum class Transport { staged, mpi, nccl, peer };

constexpr std::array<std::string_view, 5> names_of(Indexing) {
  return {"standard", "bitwise", "standard-grid", "sliced", "sliced-grid"};
}
constexpr std::array<std::string_view, 3> names_of(Load) { return {"plain", "readonly", "texture"}; }
constexpr std::array<std::string_view, 7> names_of(Kernel) {
  return {"update", "wide", "overlapped", "resident", "small", "synchronous", "spread"};
}
constexpr std::array<std::string_view, 4> names_of(Transport) { return {"staged", "mpi", "nccl", "peer"}; }

inline constexpr auto indexings = values<Indexing>();
inline constexpr auto loads = values<Load>();
inline constexpr auto kernels = values<Kernel>();
inline constexpr auto transports = values<Transport>();

/// What the choice of a launch rests on.
struct Tried {
  int launches = 0;      ///< of which it was the fastest; 0: none were tried
  double seconds = 0;    ///< that this took
  bool earlier = false;  ///< another run did it
};

/// How an engine is to be run. Nothing here changes a bit of the result. What is left empty, the stage chooses.
struct Launch {
  int device = 0;           ///< device number within the platform
  std::int64_t sweeps = 0;  ///< how many are to come: a stage may try launches before it chooses; 0: it does not
  std::optional<Indexing> indexing{};
  std::optional<Load> load{};
  std::optional<int> threads{};           ///< threads of a block
  std::optional<int> sites_per_thread{};  ///< sites in a row that one thread updates together
  std::optional<Kernel> kernel{};
  std::optional<int> samples_per_word{};   ///< samples that are updated together, as the bits of a word
  std::optional<int> cluster{};            ///< thread blocks that have a system together
  std::optional<int> replicas_together{};  ///< replicas that one thread updates
  std::optional<Transport> transport{};
  Tried tried{};  ///< in an engine's launch, if it chose
};

using LaunchField = psflip::FieldOf<Launch>;
/// All that can be asked for by name. To add one: a member of Launch, a line in launch.cpp, and its use in a stage.
const std::vector<LaunchField>& launch_fields(const Launch& = {});

/// ": the fastest of 23 that were tried (0.81 s)"; empty if none were.
std::string words_of(const Tried& tried);

}  // namespace psflip::spin_glass
