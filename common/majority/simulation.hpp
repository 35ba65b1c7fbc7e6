/// The 2D majority model and the interface that every stage's engine implements.
///
/// n x n spins with periodic boundaries. In one step every spin becomes the sign of the sum over itself and its four
/// neighbours, all at once; the sum has five odd terms and is never zero. For n = 1 and n = 2 a neighbour is reached
/// twice, or is the spin itself: (x + n) mod n decides, and no size is special.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "majority/launch.hpp"

namespace psflip::majority {

/// +1 (up) or -1 (down).
using Spin = std::int8_t;

/// A square lattice of `size` x `size` spins, row-major: the spin at column x, row y is spins[y * size + x].
struct Lattice {
  std::int64_t size = 0;
  std::vector<Spin> spins;

  friend bool operator==(const Lattice&, const Lattice&) = default;
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
majority::MakeSimulation make_simulation;  ///< the plain loop
}
namespace psflip::cpu {
majority::MakeSimulation make_simulation;  ///< this program's stage, as CUDA on host threads
}
namespace psflip::gpu {
majority::MakeSimulation make_simulation;  ///< this program's stage, on a GPU
}
