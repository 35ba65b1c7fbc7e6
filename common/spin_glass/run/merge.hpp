#pragma once

#include "spin_glass/run/options.hpp"

namespace psflip::spin_glass {

/// What the run of all samples would have written, from the files of sums of runs that have them together (--merge).
/// Throws InvalidInput, before anything is written, if samples are missing or are in two files, or a file is of another
/// run.
void merge(const Options& given);

}  // namespace psflip::spin_glass
