/// Replica exchange where the spins of many samples are the bits of a word: energies by vertical counters, and spins
/// that change places under masks.
#pragma once

#include <cstdint>

#include "05_sliced/sliced.hpp"
#include "07_amsc/multispin.hpp"
#include "07_amsc/observe/observe.hpp"
#include "spin_glass/model/exchange.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// Adds the unsatisfied bonds of every unit, replica and bit, number (unit * replicas + replica) * 32 + bit. Starts a
/// kernel in the default stream.
void count_unsatisfied_packed(const amsc::Packing& packing, const amsc::PackedArrays& arrays,
                              const spin_glass::Sliced& layout, unsigned long long* unsatisfied);

/// Says in which samples a replica changes places with the next: the bits of masks[unit * replicas + replica], 0
/// before. Starts a kernel in the default stream.
void decide_packed(const amsc::Packing& packing, const spin_glass::Decisions& decisions, std::uint32_t* masks);

/// Swaps every replica with the next, in the samples that masks[unit * replicas + replica] names; no replica is in two
/// swaps. Elements of any layout. Starts a kernel in the default stream.
void swap_packed(const amsc::Packing& packing, std::uint32_t* const (&spins)[2], const std::uint32_t* masks);

}  // namespace psflip::PSFLIP_PLATFORM
