/// What is known exactly, or to many digits, about the 3D spin glass, as tests that an engine has to pass.
///
/// Each check simulates many independent systems with fixed seeds and compares averages with the known values. Its
/// error bars come from groups of samples: those of one group share their draws, so only groups are independent. A
/// check also bounds its own error, so that it cannot pass by being blind.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "spin_glass/engine/simulation.hpp"

namespace psflip::spin_glass {

/// Makes an engine for a problem, at its start.
using MakeEngine = std::function<std::unique_ptr<Simulation>(const Problem&)>;

/// One number, as found and as known. Energies and magnetisations are those of a spin.
struct Measurement {
  std::string what;
  double found;
  double error;  ///< standard error of `found`; 0 if it has to be exact
  double expected;
  double expected_uncertainty;  ///< of `expected`: its own error bar, or what a series leaves out
  double largest_error;         ///< `found` must be known this well

  /// Within 4.5 errors, and known well enough.
  bool agrees() const;
};

/// "energy at T = 2: found -1.0591 +- 0.0008, expected -1.058977, 0.2 errors away"
std::string text(const Measurement& measurement);

/// With the reference, a plain loop on one core, all checks together take about two seconds, or half a minute:
/// `thorough` has error bars about four times smaller, and more sizes and temperatures.
enum class Effort { quick, thorough };

struct PhysicsCheck {
  std::string_view name;  ///< "nishimori-energy"
  std::vector<Measurement> (*run)(const MakeEngine& make, Effort effort);
};

const std::vector<PhysicsCheck>& physics_checks();

}  // namespace psflip::spin_glass
