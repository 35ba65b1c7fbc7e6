/// Matrix Market files (math.nist.gov/MatrixMarket), read strictly.
///
/// The first line is "%%MatrixMarket matrix FORMAT FIELD SYMMETRY", in letters of either case. After it, lines that are
/// empty or begin with % mean nothing; the others are the size and then the entries, one a line, as many as the size
/// says. FIELD is real or integer, and an integer file has whole numbers only.
#pragma once

#include <string>
#include <vector>

#include "06_prng/linear_solver/systems/system.hpp"

namespace psflip::linear {

/// A square matrix in coordinate format: the size is "rows columns entries", an entry "row column value", in any order.
/// SYMMETRY is general, or symmetric, which is expanded: then no entry is above the diagonal. Rows and columns count
/// from 1, to at most 2^31 - 1. Throws InvalidInput, which names the file and the line, for anything else: an entry
/// that is listed twice, a number that is none, or not finite, fewer entries than rows, a file that ends too soon or
/// goes on too long. Takes no more memory than the file's content justifies, whatever its size line says.
Csr read_matrix(const std::string& path);

/// A vector in array format and general: the size is "rows 1", an entry its value. Throws InvalidInput, as above, for
/// anything else, and if it is not as long as `rows`.
std::vector<double> read_vector(const std::string& path, std::int64_t rows);

}  // namespace psflip::linear
