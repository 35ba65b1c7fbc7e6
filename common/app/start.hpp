#pragma once

namespace psflip {

/// Where every program of a stage begins: here it just calls the program. A stage whose programs are many processes has
/// its own, which calls it on rank 0 and lets the other ranks serve it. Returns the exit code.
int start(int argc, char** argv, int (*program)(int, char**));

}  // namespace psflip
