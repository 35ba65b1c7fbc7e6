#include "06_prng/linear_solver/systems/radius.hpp"

#include <btf.h>

#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace psflip::linear {
namespace {

using ColumnMatrix = Eigen::SparseMatrix<double, Eigen::ColMajor, std::int64_t>;

/// Calls f with the absolute values of each strongly connected component of the matrix. Ordered by components a matrix
/// is block triangular, so its eigenvalues are theirs. A row becomes a column, which changes no eigenvalue.
void for_each_component(const Csr& matrix, const std::function<void(const ColumnMatrix&)>& f) {
  const auto n = static_cast<std::size_t>(matrix.rows);
  std::vector<std::int64_t> begin = matrix.begin;
  std::vector<std::int64_t> column(matrix.column.begin(), matrix.column.end());
  std::vector<std::int64_t> order(n), first(n + 1), workspace(4 * n);
  const std::int64_t components =
      btf_l_strongcomp(matrix.rows, begin.data(), column.data(), nullptr, order.data(), first.data(), workspace.data());
  std::vector<std::int64_t>& place = workspace;
  for (std::int64_t c = 0; c < components; ++c) {
    std::sort(order.begin() + first[c], order.begin() + first[c + 1]);
    for (std::int64_t k = first[c]; k < first[c + 1]; ++k) place[order[k]] = k;
  }
  for (std::int64_t c = 0; c < components; ++c) {
    const std::int64_t size = first[c + 1] - first[c];
    std::vector<Eigen::Triplet<double, std::int64_t>> entries;
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int64_t row = order[first[c] + k];
      for (std::int64_t e = matrix.begin[row]; e < matrix.begin[row + 1]; ++e) {
        const std::int64_t other = place[matrix.column[e]] - first[c];
        if (other >= 0 && other < size) entries.emplace_back(other, k, std::abs(matrix.value[e]));
      }
    }
    if (entries.empty()) continue;  // one row, without a diagonal
    ColumnMatrix component(size, size);
    component.setFromTriplets(entries.begin(), entries.end());
    f(component);
  }
}

/// Of an irreducible matrix without negative entries. For every x > 0 the radius lies between the smallest and the
/// largest (B x)_i / x_i; the next x is (largest I - B)^-1 x, which is positive again and converges quadratically.
Radius perron(const ColumnMatrix& b, Accuracy accuracy) {
  constexpr int most_iterations = 30;
  constexpr double tolerance = 1e-10;
  ColumnMatrix identity(b.rows(), b.cols());
  identity.setIdentity();
  Eigen::SparseLU<ColumnMatrix, Eigen::COLAMDOrdering<std::int64_t>> lu;
  Eigen::VectorXd x = Eigen::VectorXd::Ones(b.rows());
  Radius radius{0, std::numeric_limits<double>::infinity()};
  for (int i = 0;; ++i) {
    const Eigen::ArrayXd quotients = (b * x).array() / x.array();
    radius.lower = std::max(radius.lower, quotients.minCoeff());
    radius.upper = std::min(radius.upper, quotients.maxCoeff());
    if (accuracy == Accuracy::side_of_one && (radius.upper < 1 || radius.lower >= 1)) return radius;
    if (radius.upper - radius.lower <= tolerance * radius.upper || i == most_iterations) return radius;
    const ColumnMatrix shifted = radius.upper * identity - b;
    if (i == 0) lu.analyzePattern(shifted);
    lu.factorize(shifted);
    if (lu.info() != Eigen::Success) return radius;
    x = lu.solve(x).eval();
    x /= x.maxCoeff();
    if (!(x.minCoeff() > 0) || !x.allFinite()) return radius;  // rounded away: the bounds are as near as they get
  }
}

}  // namespace

Radius spectral_radius(const Csr& matrix, Accuracy accuracy) {
  Radius largest;
  for_each_component(matrix, [&](const ColumnMatrix& component) {
    const Radius radius = perron(component, accuracy);
    largest = {std::max(largest.lower, radius.lower), std::max(largest.upper, radius.upper)};
  });
  const auto [least, most] = std::ranges::minmax_element(matrix.value);
  if (!matrix.value.empty() && *least < 0 && *most > 0) largest.lower = 0;
  return largest;
}

}  // namespace psflip::linear
