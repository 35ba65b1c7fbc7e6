#pragma once

#include <cstddef>
#include <string>

#include "app/host.hpp"
#include "app/invalid_input.hpp"
#include "gpu/check.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// Throws InvalidInput if the current device has no room for so many bytes. `what` says for what.
inline void refuse_more_than_there_is(double bytes, const std::string& what) {
  std::size_t free = 0, total = 0;
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  if (bytes > static_cast<double>(free))
    throw InvalidInput(what + " needs " + readable_bytes(bytes) + " of device memory; " +
                       readable_bytes(static_cast<double>(free)) + " are free");
}

}  // namespace psflip::PSFLIP_PLATFORM
