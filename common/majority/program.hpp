#pragma once

namespace psflip::majority {

/// The program `majority`: start, advance, report, write files. `majority --help` says it all. Returns the exit code
/// (app/command_line.hpp).
int run(int argc, const char* const* argv) noexcept;

}  // namespace psflip::majority
