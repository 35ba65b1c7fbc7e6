/// Observables of all samples, counted where their bits are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "07_amsc/multispin.hpp"
#include "spin_glass/model/geometry.hpp"
#include "spin_glass/model/observables.hpp"

namespace psflip::amsc {

/// The spins and couplings of an engine, in the memory of its device and in the sliced layout.
struct PackedArrays {
  const std::uint32_t* spins[2];  ///< [colour], Packing::spin, 1 = up
  /// Of the red sites, Packing::coupling, 1 = antiferromagnetic. Null: nobody wants energies, and those found are
  /// wrong.
  const std::uint32_t* couplings[spin_glass::directions];
};

/// What spin_glass::observe() computes for each sample, by kernels on the current device, in the default stream. `size`
/// is L. Nothing if correlations are asked for and a thread block of the device cannot hold 32 lines of L sites in its
/// shared memory: 128 (L + 18) bytes, so that an H200 can up to L = 1798, and a device with 99 KB a block up to 774.
/// Throws std::runtime_error if the device fails.
using ObservePacked = std::optional<std::vector<spin_glass::SampleObservables>>(const Packing& packing,
                                                                                const PackedArrays& arrays, int size,
                                                                                bool correlations);

}  // namespace psflip::amsc

namespace psflip::cpu {
amsc::ObservePacked observe_packed;  ///< as CUDA on host threads
}
namespace psflip::gpu {
amsc::ObservePacked observe_packed;  ///< on a GPU
}
