/// Configurations as a file (--write-spins, --spins): a described file (checkpoint/described_file.hpp), named
/// "psFlipSp":
///   the description: what the run's other files begin with, and the hash of the state. Of it, "problem" says which
///              spins these are: "size" L, "first_sample" S, "samples" M, "replicas" R
///   bits       the spins of samples S to S + M - 1, in the order of State (model/state.hpp), 1 = up, the lowest bit of
///              a byte first
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/files/output_file.hpp"
#include "spin_glass/engine/simulation.hpp"

namespace psflip::spin_glass {

/// Does not commit.
void write_spins(OutputFile& file, const nlohmann::ordered_json& description, const Simulation& simulation);

/// Puts spins of a file into an engine of the problem that is at its start. The file has to have all of the problem's
/// samples, may have others, and has the same size and replicas; else InvalidInput.
void start_from(const std::string& path, const Problem& problem, Simulation& simulation);

}  // namespace psflip::spin_glass
