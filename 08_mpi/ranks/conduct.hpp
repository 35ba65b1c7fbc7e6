/// Rank 0 runs the program, and the others do what it says.
#pragma once

#include "spin_glass/engine/simulation.hpp"

namespace psflip {

/// For all ranks but 0: makes engines and does their work until rank 0 calls quit(). Returns what that says.
int serve();
/// From now on the signals that ask a program to end are for others.
void ignore_signals();
/// For rank 0, at last: lets the others come back from serve().
void quit(int exit_code);

}  // namespace psflip
