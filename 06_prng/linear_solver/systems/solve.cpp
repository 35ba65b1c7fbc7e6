#include "06_prng/linear_solver/systems/solve.hpp"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/invalid_input.hpp"
#include "app/stopwatch.hpp"

namespace psflip::linear {
namespace {

template <int order>
using Sparse = Eigen::SparseMatrix<double, order, std::int64_t>;

Sparse<Eigen::RowMajor> by_rows(const Csr& matrix) {
  const std::vector<std::int64_t> column(matrix.column.begin(), matrix.column.end());
  return Eigen::Map<const Sparse<Eigen::RowMajor>>(matrix.rows, matrix.rows, matrix.begin.back(), matrix.begin.data(),
                                                   column.data(), matrix.value.data());
}

Eigen::Map<const Eigen::VectorXd> as_eigen(const std::vector<double>& x) {
  return {x.data(), static_cast<Eigen::Index>(x.size())};
}

std::vector<double> as_std(const Eigen::VectorXd& x) { return {x.begin(), x.end()}; }

/// Empty if the solver fails or its answer is none.
template <class Solver>
std::vector<double> solve_by(const Sparse<Eigen::ColMajor>& a, const Eigen::VectorXd& b) {
  Solver solver;
  solver.compute(a);
  if (solver.info() != Eigen::Success) return {};
  const Eigen::VectorXd x = solver.solve(b);
  // Backward stable, if that is small; written so that it rejects NaN.
  if (!((a * x - b).norm() <= 1e-10 * (a.norm() * x.norm() + b.norm()))) return {};
  return as_std(x);
}

class Richardson : public Iteration {
 public:
  explicit Richardson(const Scaled& system) : h_(by_rows(system.h)), b_(as_eigen(system.b)) {}

  double run(std::int64_t iterations) override {
    const Stopwatch watch;
    x_.setZero(b_.size());
    for (std::int64_t i = 0; i < iterations; ++i) {
      next_.noalias() = h_ * x_;
      next_ += b_;
      x_.swap(next_);
    }
    return watch.seconds();
  }
  std::vector<double> x() const override { return as_std(x_); }

 private:
  Sparse<Eigen::RowMajor> h_;
  Eigen::VectorXd b_, x_, next_;
};

class ConjugateGradients : public Iteration {
 public:
  explicit ConjugateGradients(const System& system) : a_(by_rows(system.a)), b_(as_eigen(system.b)) {
    solver_.compute(a_);
    solver_.setTolerance(0);
  }

  double run(std::int64_t iterations) override {
    const Stopwatch watch;
    if (iterations == 0) {
      x_.setZero(b_.size());
    } else {
      solver_.setMaxIterations(iterations);
      x_ = solver_.solve(b_);
    }
    return watch.seconds();
  }
  std::vector<double> x() const override { return as_std(x_); }

 private:
  Sparse<Eigen::RowMajor> a_;
  Eigen::VectorXd b_, x_;
  Eigen::ConjugateGradient<Sparse<Eigen::RowMajor>, Eigen::Lower | Eigen::Upper, Eigen::IdentityPreconditioner> solver_;
};

}  // namespace

bool symmetric(const Csr& matrix) {
  const Csr other = transposed(matrix);
  return matrix.begin == other.begin && matrix.column == other.column && matrix.value == other.value;
}

std::vector<double> solve_directly(const System& system) {
  const Sparse<Eigen::ColMajor> a = by_rows(system.a);
  const Eigen::VectorXd b = as_eigen(system.b);
  std::vector<double> x;
  if (symmetric(system.a)) x = solve_by<Eigen::SimplicialLDLT<Sparse<Eigen::ColMajor>>>(a, b);
  if (x.empty()) x = solve_by<Eigen::SparseLU<Sparse<Eigen::ColMajor>, Eigen::COLAMDOrdering<std::int64_t>>>(a, b);
  if (x.empty()) throw InvalidInput("the matrix is singular, or nearly");
  return x;
}

std::unique_ptr<Iteration> make_richardson(const Scaled& system) { return std::make_unique<Richardson>(system); }

std::unique_ptr<Iteration> make_conjugate_gradients(const System& system) {
  return std::make_unique<ConjugateGradients>(system);
}

std::optional<TimeToError> time_to_error(Iteration& method, const std::vector<double>& exact, double error) {
  constexpr double most_seconds = 5;  // for the last of the runs, whose lengths double
  const auto error_after = [&](std::int64_t iterations) {
    const double seconds = method.run(iterations);
    return std::pair(relative_error(method.x(), exact), seconds);
  };
  std::int64_t too_few = -1, enough = 0;
  for (double before = std::numeric_limits<double>::infinity();;) {
    const auto [now, seconds] = error_after(enough);
    if (now <= error) break;
    if (!(now < before) || seconds > most_seconds) return std::nullopt;  // NaN, too
    before = now;
    too_few = enough;
    enough = std::max<std::int64_t>(1, 2 * enough);
  }
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (error_after(middle).first <= error ? enough : too_few) = middle;
  }
  std::array<double, 3> runs;
  for (double& run : runs) run = method.run(enough);
  std::ranges::sort(runs);
  return TimeToError{enough, runs[1], relative_error(method.x(), exact)};
}

}  // namespace psflip::linear
