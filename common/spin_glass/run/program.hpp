#pragma once

namespace psflip::spin_glass {

/// The program `spin_glass`: start, advance, measure, report, write files. `spin_glass --help` says it all. Returns the
/// exit code (app/command_line.hpp).
int run(int argc, const char* const* argv) noexcept;

}  // namespace psflip::spin_glass
