/// What the program `linear_solver` says in the end.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "06_prng/linear_solver/options.hpp"
#include "06_prng/linear_solver/systems/radius.hpp"
#include "06_prng/linear_solver/systems/solve.hpp"
#include "gpu/device.hpp"

namespace psflip::linear {

/// A deterministic method up to the walks' error.
struct Rival {
  std::string solver;    ///< "richardson" or "conjugate-gradients"
  std::string platform;  ///< "cpu" or "gpu"
  std::optional<TimeToError> result;
  std::string left_out = {};  ///< why there is no result
};

struct Result {
  DeviceReport device;
  std::int64_t rows = 0, entries = 0;
  Radius radius, second_moment;  ///< of H, of H^
  Outcome outcome;
  double tables_seconds = 0;  ///< scaling, and the probabilities of the walks, on the host
  double direct_seconds = 0;  ///< the exact solution
  double pair_chi_squared =
      0;                ///< of the first two numbers of up to 10^7 streams, for each degree of freedom (seeding.hpp)
  double residual = 0;  ///< ||b - A x|| / ||b|| of the scaled system
  double error = 0;     ///< ||x - exact|| / ||exact||
  double expected_error = 0;  ///< ||standard error|| / ||exact||: what the error should be, were it all chance
  std::vector<Rival> rivals;  ///< empty without --compare
};

void print_text(std::ostream& out, const Options& options, const Result& result);
void print_json(std::ostream& out, const Options& options, const Result& result);
void print_csv(std::ostream& out, const Result& result);

}  // namespace psflip::linear
