/// The interface that every stage's engine of the 3D spin glass implements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spin_glass/engine/launch.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/model/problem.hpp"
#include "spin_glass/model/state.hpp"

namespace psflip::spin_glass {

/// The states of all random streams travel one word after the other, and each as the words of all streams: element
/// group * L^3 + s belongs to site s of a group of samples. Word 0 is the oldest that the stream's future depends on:
///   minstd          1: the state, 1 .. 2^31 - 2
///   parisi-rapuano  61: the last words of its sequence, or the seed's
///   mt19937         624: likewise, before tempering
///   philox          none
/// So a state says nothing of the layout, the launch, the device or the stage that it comes from.
using TakeWord = std::function<void(std::span<const std::uint32_t> of_streams)>;
/// Fills its argument with the next word of all streams.
using GiveWord = std::function<void(std::span<std::uint32_t> of_streams)>;

/// Takes the spins of some lattices, in the order of State.
using TakeSpins = std::function<void(std::span<const Spin> of_lattices)>;

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
  /// How many half-sweeps were done since the start.
  virtual std::int64_t half_sweeps() const = 0;
  /// The spins now.
  virtual State state() const = 0;
  /// State::exchanges alone.
  virtual Exchanges exchanges() const { return {}; }

  /// The launch that is used, with everything filled in that the stage has.
  virtual Launch launch() const = 0;
  /// What a person should know of how the engine runs, one line without a full stop; empty if there is nothing.
  virtual std::string remark() const { return {}; }
  /// What a sweep has to move between memory and the device, a flip (an update of one spin): every spin read and
  /// written once, those of the other colour, couplings and streams read once in each half-sweep and replicas sharing
  /// what they can share; caches are thought to be ideal within a half-sweep and empty before it.
  virtual double bytes_per_flip() const = 0;
};

/// What an engine is besides if its streams can leave it, so that another can go on: all but those with cuRAND's.
class Resumable {
 public:
  virtual ~Resumable() = default;

  /// Words of state of a stream; 0 if a stream has none.
  virtual int stream_words() const = 0;
  /// Calls `take` for word 0, 1, ..., stream_words() - 1 of the streams as they are now.
  virtual void save_streams(const TakeWord& take) const = 0;
  /// Becomes the engine that had done so many half-sweeps and then had this state and these streams: calls `give` for
  /// word 0, 1, ..., stream_words() - 1. Throws InvalidInput, having changed nothing, if the state is not of this
  /// problem's size.
  virtual void resume(std::int64_t half_sweeps, const State& state, const GiveWord& give) = 0;
};

/// What an engine is besides if it measures where the spins are: the host then needs no room for all spins and
/// couplings.
class Observing {
 public:
  virtual ~Observing() = default;

  /// Simulation::state() in parts: calls `take` for some lattices, and so on to the last.
  virtual void take_state(const TakeSpins& take) const = 0;
  /// What observables.hpp computes from the state, one element a sample; nothing if the device cannot, and then the
  /// caller has to take the state to the host. `correlations`: also the overlaps' correlations.
  virtual std::optional<std::vector<SampleObservables>> observe(bool correlations) const = 0;
};

/// The same of any engine: in parts if it is Observing, else at once.
void take_state(const Simulation& simulation, const TakeSpins& take);

/// Throws InvalidInput unless an engine for the problem could be where resume() is asked to put it.
void check_resumed(const Problem& problem, std::int64_t half_sweeps, const State& state);

/// The one function that a stage exports: an engine for the problem, at its start.
/// Throws psflip::InvalidInput for a problem or a launch that the stage or the device cannot do.
using MakeSimulation = std::unique_ptr<Simulation>(const Problem& problem, const Launch& launch);

}  // namespace psflip::spin_glass

namespace psflip::reference {
spin_glass::MakeSimulation make_simulation;  ///< the plain loop
}
namespace psflip::cpu {
spin_glass::MakeSimulation make_simulation;  ///< this program's stage, as CUDA on host threads
}
namespace psflip::gpu {
spin_glass::MakeSimulation make_simulation;  ///< this program's stage, on a GPU
}
