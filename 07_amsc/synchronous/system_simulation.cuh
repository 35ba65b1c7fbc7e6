/// An engine but for the update: systems of which a word is 32 sites, their start, the way between them and the
/// canonical order, and their observables.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "07_amsc/synchronous/words.hpp"
#include "gpu/device_buffer.hpp"
#include "spin_glass/engine/device_simulation.cuh"
#include "spin_glass/engine/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {

using amsc::Systems;

class SystemSimulation : public spin_glass::Simulation, public spin_glass::Resumable, public spin_glass::Observing {
 public:
  SystemSimulation(const spin_glass::Problem& problem, const spin_glass::Launch& launch);
  static double bytes_needed(const spin_glass::Problem& problem, const spin_glass::Launch& launch);

  void restart() override;
  double advance(std::int64_t half_sweeps) override;
  std::int64_t half_sweeps() const override { return half_sweeps_done_; }
  spin_glass::Launch launch() const override { return launch_; }

  spin_glass::State state() const override;
  void take_state(const spin_glass::TakeSpins& take) const override;
  int stream_words() const override { return 0; }
  void save_streams(const spin_glass::TakeWord&) const override {}
  void resume(std::int64_t half_sweeps, const spin_glass::State& state, const spin_glass::GiveWord&) override;

  std::optional<std::vector<spin_glass::SampleObservables>> observe(bool correlations) const override;
  double bytes_per_flip() const override;

 protected:
  /// Starts the kernels for half-sweeps number half_sweeps_done_ and following, in the default stream.
  virtual void update(std::int64_t half_sweeps) = 0;

  int size_;
  spin_glass::Problem problem_;
  spin_glass::Launch launch_;
  Systems systems_;
  DeviceBuffer<std::uint32_t> spins_[2], bonds_[2];  ///< of each colour, as Systems has them
  std::int64_t half_sweeps_done_ = 0;

 private:
  /// Calls f(first lattice, room for the spins of some on the host, and on the device) for one part after the other.
  template <class F>
  void for_each_part(F f) const;
  void make_bonds(Colour colour, const spin_glass::Problem& problem);

  Timer timer_;
};

}  // namespace psflip::PSFLIP_PLATFORM
