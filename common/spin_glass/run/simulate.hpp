#pragma once

#include "spin_glass/checkpoint/checkpointer.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/run.hpp"
#include "spin_glass/model/schedule.hpp"
#include "spin_glass/run/run_files.hpp"

namespace psflip::spin_glass {

/// Computes a run from where `simulation` and `result` are to its last sweep, and measures by the schedule. Every
/// measuring time up to there is in result.averages. Saves the run if there is a checkpointer, at last at its end, and
/// then may throw Interrupted.
void simulate(Simulation& simulation, const Run& run, const Schedule& schedule, RunFiles& files,
              Checkpointer* checkpointer, Result& result);

}  // namespace psflip::spin_glass
