#include "06_prng/linear_solver/systems/system.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "app/invalid_input.hpp"

namespace psflip::linear {
namespace {

constexpr double too_large = 1e150;  // squares are summed

void add(Csr& matrix, std::int64_t column, double value) {
  matrix.column.push_back(static_cast<std::int32_t>(column));
  matrix.value.push_back(value);
}

void end_row(Csr& matrix) {
  ++matrix.rows;
  matrix.begin.push_back(static_cast<std::int64_t>(matrix.column.size()));
}

/// What a cell of nx x ny has to its left and below (side = -1), or to its right and above (+1), in ascending order.
void add_neighbours(Csr& matrix, std::int64_t first, std::int64_t cell, std::int64_t nx, std::int64_t ny, int side,
                    double value) {
  const std::int64_t x = cell % nx, y = cell / nx;
  if (side < 0) {
    if (y > 0) add(matrix, first + cell - nx, value);
    if (x > 0) add(matrix, first + cell - 1, value);
  } else {
    if (x + 1 < nx) add(matrix, first + cell + 1, value);
    if (y + 1 < ny) add(matrix, first + cell + nx, value);
  }
}

/// Sum of |entry| of each row.
std::vector<double> absolute_row_sums(const Csr& matrix) {
  std::vector<double> sums(static_cast<std::size_t>(matrix.rows));
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t k = matrix.begin[i]; k < matrix.begin[i + 1]; ++k) sums[i] += std::abs(matrix.value[k]);
  }
  return sums;
}

/// People count from 1, and so do Matrix Market files.
std::string entry(std::int64_t i, std::int64_t j) {
  return "(" + std::to_string(i + 1) + ", " + std::to_string(j + 1) + ")";
}

}  // namespace

Csr lap1d(std::int64_t n, double shift) {
  if (n < 1 || n > most_rows)
    throw InvalidInput("lap1d: N is " + std::to_string(n) + "; it must be 1 to " + std::to_string(most_rows));
  if (!std::isfinite(shift)) throw InvalidInput("lap1d: the shift must be a finite number");
  Csr matrix;
  matrix.begin.reserve(static_cast<std::size_t>(n) + 1);
  matrix.column.reserve(static_cast<std::size_t>(3 * n));
  matrix.value.reserve(static_cast<std::size_t>(3 * n));
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) add(matrix, i - 1, -1);
    add(matrix, i, 2 + (i == 0) + (i == n - 1) + shift);
    if (i < n - 1) add(matrix, i + 1, -1);
    end_row(matrix);
  }
  return matrix;
}

Csr lap2d(std::int64_t nx, std::int64_t ny) {
  if (nx < 1 || ny < 1 || nx > most_rows / ny)
    throw InvalidInput("lap2d: " + std::to_string(nx) + " x " + std::to_string(ny) + " cells; it must be 1 to " +
                       std::to_string(most_rows));
  Csr matrix;
  for (std::int64_t cell = 0; cell < nx * ny; ++cell) {
    add_neighbours(matrix, 0, cell, nx, ny, -1, -1);
    add(matrix, cell, 4);
    add_neighbours(matrix, 0, cell, nx, ny, +1, -1);
    end_row(matrix);
  }
  return matrix;
}

Csr diffusion2g() {
  constexpr std::int64_t nx = 136, ny = 94, cells = nx * ny;
  constexpr std::array<double, 2> diffusion = {0.6008901326, 0.9780699492};
  constexpr double downscatter = 1.0637158713;
  Csr matrix;
  for (std::int64_t group = 0; group < 2; ++group) {
    const double value = -diffusion[group] / 4;
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      if (group == 1) add(matrix, cell, -downscatter);
      add_neighbours(matrix, group * cells, cell, nx, ny, -1, value);
      add(matrix, group * cells + cell, 1);
      add_neighbours(matrix, group * cells, cell, nx, ny, +1, value);
      end_row(matrix);
    }
  }
  return matrix;
}

std::vector<double> ones(std::int64_t n) { return std::vector<double>(static_cast<std::size_t>(n), 1.0); }

std::vector<double> sine(std::int64_t n) {
  std::vector<double> b(static_cast<std::size_t>(n));
  for (std::int64_t i = 1; i < n; ++i) {
    b[i] = std::sin(std::numbers::pi * static_cast<double>(i) / static_cast<double>(n - 1));
  }
  return b;
}

Scaled scaled(const System& system) {
  const Csr& a = system.a;
  if (static_cast<std::int64_t>(system.b.size()) != a.rows)
    throw InvalidInput("the right-hand side has " + std::to_string(system.b.size()) + " entries, the matrix " +
                       std::to_string(a.rows) + " rows; they must be equally many");
  Scaled result;
  result.h.begin.reserve(a.begin.size());
  result.b.reserve(system.b.size());
  bool zero = true;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    double diagonal = 0;
    for (std::int64_t k = a.begin[i]; k < a.begin[i + 1]; ++k) {
      if (!std::isfinite(a.value[k]))
        throw InvalidInput("the matrix's entry " + entry(i, a.column[k]) + " is not a finite number");
      if (a.column[k] == i) diagonal = a.value[k];
    }
    if (diagonal == 0)
      throw InvalidInput("the matrix's entry " + entry(i, i) + " is zero; the method divides by the diagonal");
    for (std::int64_t k = a.begin[i]; k < a.begin[i + 1]; ++k) {
      const double value = -a.value[k] / diagonal;
      if (a.column[k] == i || value == 0) continue;
      if (!(std::abs(value) < too_large))
        throw InvalidInput("the matrix's entry " + entry(i, a.column[k]) + " divided by the diagonal is too large");
      add(result.h, a.column[k], value);
    }
    end_row(result.h);
    const double b = system.b[i] / diagonal;
    if (!(std::abs(b) < too_large))
      throw InvalidInput("entry " + std::to_string(i + 1) + " of the right-hand side, divided by the diagonal, is " +
                         "not a number or too large");
    zero = zero && b == 0;
    result.b.push_back(b);
  }
  if (zero) throw InvalidInput("the right-hand side is zero, and so is x; no walk could begin");
  return result;
}

Csr transposed(const Csr& matrix) {
  Csr result;
  result.rows = matrix.rows;
  result.begin.assign(static_cast<std::size_t>(matrix.rows) + 1, 0);
  for (const std::int32_t column : matrix.column) ++result.begin[column + 1];
  for (std::int64_t i = 0; i < matrix.rows; ++i) result.begin[i + 1] += result.begin[i];
  result.column.resize(matrix.column.size());
  result.value.resize(matrix.value.size());
  std::vector<std::int64_t> next(result.begin.begin(), result.begin.end() - 1);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t k = matrix.begin[i]; k < matrix.begin[i + 1]; ++k) {
      const std::int64_t place = next[matrix.column[k]]++;
      result.column[place] = static_cast<std::int32_t>(i);
      result.value[place] = matrix.value[k];
    }
  }
  return result;
}

Tables tables(Csr base) {
  Tables result{std::move(base), {}, {}};
  const Csr& b = result.base;
  const std::vector<double> sums = absolute_row_sums(b);
  result.cdf.resize(b.value.size());
  result.weight.resize(b.value.size());
  for (std::int64_t i = 0; i < b.rows; ++i) {
    double sum = 0;
    for (std::int64_t k = b.begin[i]; k < b.begin[i + 1]; ++k) {
      sum += std::abs(b.value[k]);
      result.cdf[k] = std::min(sum / sums[i], 1.0);
      result.weight[k] = std::copysign(sums[i], b.value[k]);
    }
    if (b.begin[i] < b.begin[i + 1]) result.cdf[b.begin[i + 1] - 1] = 1;  // whatever was rounded
  }
  return result;
}

Csr second_moment(const Csr& base) {
  const std::vector<double> sums = absolute_row_sums(base);
  Csr result = base;
  for (std::int64_t i = 0; i < base.rows; ++i) {
    for (std::int64_t k = base.begin[i]; k < base.begin[i + 1]; ++k) {
      result.value[k] = std::abs(base.value[k]) * sums[i];
    }
  }
  return result;
}

std::vector<double> product(const Csr& matrix, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(matrix.rows));
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t k = matrix.begin[i]; k < matrix.begin[i + 1]; ++k) y[i] += matrix.value[k] * x[matrix.column[k]];
  }
  return y;
}

double norm(const std::vector<double>& x) {
  double result = 0;
  for (const double value : x) result = std::hypot(result, value);  // squares could be out of range
  return result;
}

double residual(const Scaled& system, const std::vector<double>& x) {
  std::vector<double> r = product(system.h, x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] += system.b[i] - x[i];
  return norm(r) / norm(system.b);
}

double relative_error(const std::vector<double>& x, const std::vector<double>& exact) {
  std::vector<double> difference(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) difference[i] = x[i] - exact[i];
  return norm(difference) / norm(exact);
}

}  // namespace psflip::linear
