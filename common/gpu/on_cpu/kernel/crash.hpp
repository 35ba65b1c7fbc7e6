/// A word of explanation when a kernel touches memory that it may not touch.
#pragma once

namespace cuda_on_cpu {

/// From now on a segmentation fault or bus error says on stderr which block and thread it was, and what lies at the
/// address, before the program dies of it. Sanitizer builds leave that to the sanitizer, and a handler that is there is
/// left alone.
void explain_crashes();

/// Gives this host thread a stack for that message: the one it runs on may be what has overflowed.
void use_crash_stack();

}  // namespace cuda_on_cpu
