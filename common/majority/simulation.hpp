/// The 2D majority model and the interface that every stage's engine implements.
///
/// n x n spins with periodic boundaries. In one step every spin becomes the sign of the sum over itself and its four
/// neighbours, all at once; the sum has five odd terms and is never zero. For n = 1 and n = 2 a neighbour is reached
/// twice, or is the spin itself: (x + n) mod n decides, and no size is special.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace psflip::majority {

/// +1 (up) or -1 (down).
using Spin = std::int8_t;

/// A square lattice of `size` x `size` spins, row-major: the spin at column x, row y is spins[y * size + x].
struct Lattice {
  std::int64_t size = 0;
  std::vector<Spin> spins;

  friend bool operator==(const Lattice&, const Lattice&) = default;
};

/// How a device stores one spin: a 32-bit int, as in the report that stages 01 to 03 follow, one byte, or one bit.
enum class Storage { int32, int8, bit };

constexpr std::string_view name(Storage storage) {
  return storage == Storage::int32 ? "int32" : storage == Storage::int8 ? "int8" : "bit";
}
/// The storage of that name; nothing if there is none.
constexpr std::optional<Storage> storage_called(std::string_view wanted) {
  for (const Storage storage : {Storage::int32, Storage::int8, Storage::bit}) {
    if (name(storage) == wanted) return storage;
  }
  return std::nullopt;
}
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

/// One stage's engine: a lattice on a device, and the means to advance it.
/// There is no state before the first set_spins(). Every member may throw std::runtime_error if the device fails.
class Simulation {
 public:
  virtual ~Simulation() = default;

  /// Replaces the state. The lattice has the size that the engine was made for.
  virtual void set_spins(const Lattice& lattice) = 0;
  /// The state now.
  virtual Lattice spins() const = 0;
  /// Updates all spins `steps` times. Returns the seconds that the device took for it, transfers excluded.
  virtual double advance(std::int64_t steps) = 0;
  /// The launch that is used, with everything filled in that the stage has.
  virtual Launch launch() const = 0;
};

/// The one function that a stage exports: an engine for lattices of size x size spins (1 <= size).
/// Throws psflip::InvalidInput for a launch that the stage or the device cannot do, or a size beyond its memory.
using MakeSimulation = std::unique_ptr<Simulation>(std::int64_t size, const Launch& launch);

}  // namespace psflip::majority

namespace psflip::reference {
majority::MakeSimulation make_simulation;  ///< stage 00, the plain loop
}
namespace psflip::cpu {
majority::MakeSimulation make_simulation;  ///< this program's stage, as CUDA on host threads
}
namespace psflip::gpu {
majority::MakeSimulation make_simulation;  ///< this program's stage, on a GPU
}
