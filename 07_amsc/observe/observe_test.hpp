/// What the test of the observables asks of a platform: to pack a state, and to observe it on a device.
#pragma once

#include <vector>

#include "07_amsc/multispin.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/model/state.hpp"

namespace psflip::amsc {

/// What observe_packed() makes of a state on the platform's first device. couplings[sample] as sample_couplings()
/// orders them. Bits and replicas that the packing has room for and the state has not are filled with rubbish.
using ObserveState = std::vector<spin_glass::SampleObservables>(
    const Packing& packing, const spin_glass::State& state,
    const std::vector<std::vector<spin_glass::Coupling>>& couplings, bool correlations);

}  // namespace psflip::amsc

namespace psflip::cpu {
amsc::ObserveState observe_state;  ///< as CUDA on host threads
}
namespace psflip::gpu {
amsc::ObserveState observe_state;  ///< on a GPU
}
