/// What the environment decides about the CPU path.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuda_on_cpu {

/// The order in which the threads of a block and the blocks of a grid run. A correct kernel gives the same result in
/// each; a kernel with a missing barrier usually does not.
enum class Schedule { forward, reversed, shuffled };

struct Settings {
  Schedule schedule = Schedule::forward;  ///< PSFLIP_SCHEDULE=forward|reversed|shuffled[:seed]
  std::uint64_t seed = 1;                 ///< of the shuffles; also of the order in which lazy streams run
  bool lazy_streams = false;              ///< PSFLIP_LAZY_STREAMS=1: stream work waits until something waits for it
  bool ends_only = false;                 ///< PSFLIP_CPU_BLOCKS=ends: of a grid, only the first and the last block run
  bool guard = false;                     ///< PSFLIP_GUARD=1: host code that touches device memory crashes
  unsigned workers = 0;          ///< PSFLIP_CPU_WORKERS: host threads for blocks; default: this rank's cores (TSan: 4)
  int devices = 1;               ///< PSFLIP_CPU_DEVICES: devices to show, 1 to 64
  std::size_t memory_bytes = 0;  ///< PSFLIP_CPU_MEMORY: bytes of a device; default: half the host's memory
};

/// Read once, at the first call. A value that makes no sense ends the program before main(), with one line and exit
/// code 2.
const Settings& settings();

}  // namespace cuda_on_cpu
