/// What deterministic methods do with the same systems: the exact answer, and the time to one as good as the walks'.
/// With Eigen.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "06_prng/linear_solver/systems/system.hpp"

namespace psflip::linear {

bool symmetric(const Csr& matrix);

/// The solution by factorisation: Cholesky's if the matrix is symmetric, else LU. Throws InvalidInput if the matrix is
/// singular, or so nearly that the residual says so.
std::vector<double> solve_directly(const System& system);

/// An iterative method with its matrix in place.
class Iteration {
 public:
  virtual ~Iteration() = default;
  /// Takes `iterations` of them from x = 0. Returns seconds.
  virtual double run(std::int64_t iterations) = 0;
  virtual std::vector<double> x() const = 0;
};

/// x <- H x + b, by Eigen on one core: the Neumann series that the walks sample. `system` has to outlive it.
std::unique_ptr<Iteration> make_richardson(const Scaled& system);
/// Conjugate gradients of A x = b, no preconditioner, by Eigen on one core. A is symmetric.
std::unique_ptr<Iteration> make_conjugate_gradients(const System& system);

struct TimeToError {
  std::int64_t iterations = 0;
  double seconds = 0;  ///< median of three runs
  double error = 0;    ///< relative_error after these iterations
};

/// How many iterations it takes until relative_error(x, exact) <= error, and how long they take. Empty if the error
/// grows, or is not reached within about ten seconds.
std::optional<TimeToError> time_to_error(Iteration& method, const std::vector<double>& exact, double error);

}  // namespace psflip::linear

namespace psflip::gpu {
/// The same two by cuSPARSE and cuBLAS. Where the build has these (PSFLIP_HAS_CUSPARSE). They throw InvalidInput for
/// 2^31 or more entries, std::runtime_error if the device fails.
std::unique_ptr<linear::Iteration> make_richardson(const linear::Scaled& system, int device);
std::unique_ptr<linear::Iteration> make_conjugate_gradients(const linear::System& system, int device);
}  // namespace psflip::gpu
