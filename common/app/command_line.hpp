/// How every program reads its options and how it ends: a thin layer over CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>

namespace psflip {

/// Parses the command line into `app` and calls `work`. Returns the program's exit code:
///   0  done, or --help was asked for
///   1  failure on the way (a device, the memory)
///   2  what was asked for cannot be done: wrong options, or `work` threw InvalidInput
///   128 + n  signal number n ended it, and `work` threw Interrupted
/// A failure is exactly one line on stderr, "program: what is wrong". Lets no exception out.
int run_program(CLI::App& app, int argc, const char* const* argv, const std::function<void()>& work) noexcept;

/// Accepts decimal whole numbers from `least` to `most`; CLI11's own conversion would take 0x10 and read 010 as 8.
CLI::Validator whole_number(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max());

}  // namespace psflip
