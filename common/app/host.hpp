/// The machine that the program runs on.
#pragma once

#include <cstdint>
#include <string>

namespace psflip {

/// The processor's name as the system gives it, or its architecture where the system gives none.
std::string processor_name();

/// Bytes of memory that this process may use: the machine's, or the control group's (a container's) if that is less.
std::int64_t host_memory_bytes();

/// Three digits in decimal units, from MB: "1.5 GB".
std::string readable_bytes(double bytes);

}  // namespace psflip
