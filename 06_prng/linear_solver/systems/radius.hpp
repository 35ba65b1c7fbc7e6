/// Spectral radii, which decide whether the walks converge. With Eigen and SuiteSparse's BTF.
#pragma once

#include "06_prng/linear_solver/systems/system.hpp"

namespace psflip::linear {

struct Radius {
  double lower = 0, upper = 0;  ///< the radius lies between them
  double value() const { return (lower + upper) / 2; }
};

enum class Accuracy {
  side_of_one,  ///< enough to know whether the radius is less than 1
  full,         ///< bounds that agree to ten digits, if rounding lets them
};

/// The largest |eigenvalue|, between bounds that are rigorous but for rounding: Noda's iteration (Numer. Math. 17
/// (1971) 382) on each strongly connected component, stopped by the quotients of Collatz and Wielandt. It wants a
/// matrix without negative entries. A matrix with entries of both signs gets the upper bound of its absolute values,
/// and 0 as lower bound.
///
/// For the walks this is enough: by Cauchy and Schwarz, rho(|H|)^2 <= rho(H^), so that rho(H^) < 1 decides.
Radius spectral_radius(const Csr& matrix, Accuracy accuracy);

}  // namespace psflip::linear
