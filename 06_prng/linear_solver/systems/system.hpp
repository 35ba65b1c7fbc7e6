/// Linear systems A x = b as the walks want them: x = H x + b, with H's rows as probabilities. Plain C++, no library.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace psflip::linear {

constexpr std::int64_t most_rows = std::numeric_limits<std::int32_t>::max();  ///< of a matrix

/// A square matrix by rows: row i has the entries begin[i] .. begin[i + 1] - 1, columns ascending and each but once.
struct Csr {
  std::int64_t rows = 0;
  std::vector<std::int64_t> begin = {0};  ///< rows + 1
  std::vector<std::int32_t> column;
  std::vector<double> value;
};

/// A x = b, as given.
struct System {
  Csr a;
  std::vector<double> b;
};

/// x = H x + b: H = I - D^-1 A without zeros, and D^-1 b, D being the diagonal of A.
struct Scaled {
  Csr h;
  std::vector<double> b;
};

/// What a walk needs to leave a row. Its base matrix B is H (forward) or H^T (adjoint); from i it goes to j with
/// probability p_ij = |B_ij| / sum_k |B_ik|, and its weight is multiplied by W_ij = B_ij / p_ij. Entry for entry:
struct Tables {
  Csr base;
  std::vector<double> cdf;     ///< sum of the row's p up to this entry, itself included; the row's last is exactly 1
  std::vector<double> weight;  ///< W
};

/// -x[i-1] + (2 + shift) x[i] - x[i+1], and 3 + shift on the diagonal of both end rows. Throws InvalidInput unless
/// 1 <= n < 2^31 and the shift is finite.
Csr lap1d(std::int64_t n, double shift);

/// The five-point Laplacian of nx x ny cells, x fastest: 4 on the diagonal, -1 for each neighbour that there is. Throws
/// InvalidInput unless nx, ny >= 1 and nx ny < 2^31.
Csr lap2d(std::int64_t nx, std::int64_t ny);

/// Two energy groups of neutrons that diffuse on 136 x 94 cells: group 1 first, then group 2, x fastest. Unit diagonal,
/// -0.6008901326 / 4 (group 1) and -0.9780699492 / 4 (group 2) for each neighbour, and -1.0637158713 from a cell of
/// group 1 to the same of group 2. A stand-in for a matrix of the report, with its three spectral radii.
Csr diffusion2g();

/// Right-hand sides: 1 everywhere, or sin(pi i / (n - 1)) for i = 0 .. n - 1.
std::vector<double> ones(std::int64_t n);
std::vector<double> sine(std::int64_t n);

/// Throws InvalidInput if b has another length than A has rows or is zero, if an entry of either is not finite or,
/// after the scaling, 1e150 or more, or if a diagonal entry is zero.
Scaled scaled(const System& system);

Csr transposed(const Csr& matrix);
Tables tables(Csr base);
/// H^: H^_ij = B_ij^2 / p_ij. The second moment of the weights stays finite if its spectral radius is less than 1.
Csr second_moment(const Csr& base);

std::vector<double> product(const Csr& matrix, const std::vector<double>& x);
double norm(const std::vector<double>& x);  ///< Euclidean
/// ||b + H x - x|| / ||b||: 1 for x = 0.
double residual(const Scaled& system, const std::vector<double>& x);
/// ||x - exact|| / ||exact||; `exact` is not zero.
double relative_error(const std::vector<double>& x, const std::vector<double>& exact);

}  // namespace psflip::linear
