/// Matrix Market files (math.nist.gov/MatrixMarket), read by SuiteSparse's CHOLMOD.
#pragma once

#include <string>
#include <vector>

#include "06_prng/linear_solver/systems/system.hpp"

namespace psflip::linear {

/// A square matrix in coordinate format, real or integer, general or symmetric, which is expanded.
/// Throws InvalidInput for anything else, and for entries that are not finite. Indices count from 1, or, as CHOLMOD has
/// it, from 0 in a file that has a 0 among them.
Csr read_matrix(const std::string& path);

/// A real or integer vector in array format, as long as `rows`. Throws InvalidInput for anything else.
std::vector<double> read_vector(const std::string& path, std::int64_t rows);

}  // namespace psflip::linear
