/// What the ranks run. The program, the tests and the benchmark run on rank 0 only and know nothing of it: what they
/// have is a Simulation of conduct.hpp, which lets all ranks do what is asked of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "spin_glass/engine/simulation.hpp"

namespace psflip {

/// One part of a half-sweep on a rank's device: "boundary", "transfer" or "bulk".
struct Part {
  const char* name;
  double begin, end;  ///< seconds since record()
};

/// What the simulations of this stage can do besides: time their parts, on rank 0.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// From now on the parts of every half-sweep are timed, which costs a little.
  virtual void record() = 0;
  /// Those since then, in the order in which they were begun; no more are timed.
  virtual std::vector<Part> recorded() = 0;
};

/// What an engine is besides a Simulation.
class Ranked : public Recorder {
 public:
  /// Once all ranks have an engine, and before the first sweep. Collective.
  virtual void connect(spin_glass::Transport transport, const std::string& reason) = 0;
};

}  // namespace psflip

// This rank's part of an engine, which is a Ranked, too. All members are collective: every rank calls the same, in the
// same order. What comes back is whole on rank 0. The rank's device is number launch.device + its number on its host,
// modulo the devices that there are. Throws the same on all ranks.
namespace psflip::cpu {
spin_glass::MakeSimulation make_engine;
}
namespace psflip::gpu {
spin_glass::MakeSimulation make_engine;
}
