/// What the program `linear_solver` can be asked for.
#pragma once

#include <optional>
#include <string>

#include "06_prng/linear_solver/walks/walks.hpp"
#include "app/command_line.hpp"

namespace psflip::linear {

struct Options {
  std::string matrix;
  std::optional<std::string> rhs;
  Request request;
  std::string device = "auto";
  int repetitions = 1;
  bool radii = false, allow_divergent = false, compare = false, csv = false, json = false;
  std::optional<std::string> output;
};

void declare(CommandLine& line, Options& options);

/// The right-hand side's name: as given, else "sin" for lap1d and "ones" for all others.
std::string rhs_name(const Options& options);

/// Reads or makes the matrix and the right-hand side. Throws InvalidInput if they cannot be had.
System make_system(const Options& options);

}  // namespace psflip::linear
