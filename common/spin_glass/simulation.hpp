/// The interface that every stage's engine of the 3D spin glass implements.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "spin_glass/problem.hpp"

namespace psflip::spin_glass {

/// The spins of all samples and replicas in the canonical order: samples outermost, then replicas, then the sites in
/// the order of s.
struct State {
  std::int64_t size = 0;
  std::int64_t samples = 0;
  std::int64_t replicas = 0;
  std::vector<Spin> spins;

  std::span<const Spin> of(std::int64_t sample, std::int64_t replica) const {
    const std::int64_t sites = size * size * size;
    return std::span(spins).subspan((sample * replicas + replica) * sites, sites);
  }
  friend bool operator==(const State&, const State&) = default;
};

/// How a thread finds its site and the site's neighbours. "Grid": its coordinates are those of the thread in the grid.
enum class Indexing { standard, bitwise, standard_grid, sliced, sliced_grid };
/// How a kernel reads what it does not write: by a plain pointer, through the read-only path, or as a linear texture.
enum class Load { plain, readonly, texture };
/// Which of a stage's kernels, where it has several (stage 07, whose files have these names).
enum class Kernel { update, wide, fused, resident };

inline constexpr std::array indexings{Indexing::standard, Indexing::bitwise, Indexing::standard_grid, Indexing::sliced,
                                      Indexing::sliced_grid};
inline constexpr std::array loads{Load::plain, Load::readonly, Load::texture};
inline constexpr std::array kernels{Kernel::update, Kernel::wide, Kernel::fused, Kernel::resident};
/// "standard", "bitwise", "standard-grid", "sliced", "sliced-grid"
std::string_view name(Indexing indexing);
/// "plain", "readonly", "texture"
std::string_view name(Load load);
/// "update", "wide", "fused", "resident"
std::string_view name(Kernel kernel);

/// How an engine is to be run. Nothing here changes a bit of the result. What is left empty, the stage chooses.
struct Launch {
  int device = 0;  ///< device number within the platform
  std::optional<Indexing> indexing{};
  std::optional<Load> load{};
  std::optional<int> threads{};           ///< threads of a block
  std::optional<int> sites_per_thread{};  ///< sites in a row that one thread updates together
  std::optional<Kernel> kernel{};
  std::optional<int> samples_per_word{};  ///< samples that are updated together, as the bits of a word
};

/// One stage's engine: the spins, couplings and random streams of a problem on a device, and the means to advance them.
/// Every member may throw std::runtime_error if the device fails.
class Simulation {
 public:
  virtual ~Simulation() = default;

  /// Back to sweep 0: the start's spins, and every stream at its beginning. A new engine is there already.
  virtual void restart() = 0;
  /// Updates one colour after the other, as often as said; the first half-sweep after a start is red. Two half-sweeps
  /// are a sweep. Returns the seconds that the device took for it, transfers excluded.
  virtual double advance(std::int64_t half_sweeps) = 0;
  /// The spins now.
  virtual State state() const = 0;
  /// The launch that is used, with everything filled in that the stage has.
  virtual Launch launch() const = 0;
  /// What a sweep has to move between memory and the device, a flip (an update of one spin): every spin read and
  /// written once, those of the other colour, couplings and streams read once in each half-sweep and replicas sharing
  /// what they can share; caches are thought to be ideal within a half-sweep and empty before it.
  virtual double bytes_per_flip() const = 0;
};

/// The one function that a stage exports: an engine for the problem, at its start.
/// Throws psflip::InvalidInput for a problem or a launch that the stage or the device cannot do.
using MakeSimulation = std::unique_ptr<Simulation>(const Problem& problem, const Launch& launch);

}  // namespace psflip::spin_glass

namespace psflip::reference {
spin_glass::MakeSimulation make_simulation;  ///< stage 00, the plain loop
}
namespace psflip::cpu {
spin_glass::MakeSimulation make_simulation;  ///< this program's stage, as CUDA on host threads
}
namespace psflip::gpu {
spin_glass::MakeSimulation make_simulation;  ///< this program's stage, on a GPU
}
