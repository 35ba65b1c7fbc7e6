// The Neumann series and conjugate gradients on a GPU, by cuSPARSE and cuBLAS: what the walks are up against.

#include <cublas_v2.h>
#include <cusparse.h>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "06_prng/linear_solver/systems/solve.hpp"
#include "app/invalid_input.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/timer.hpp"

namespace psflip::gpu {
namespace {

void check_library(int status, const char* call) {
  if (status != 0) throw std::runtime_error(std::string(call) + ": status " + std::to_string(status));
}
#define CHECK_LIBRARY(...) check_library(static_cast<int>(__VA_ARGS__), #__VA_ARGS__)

/// A matrix and a few vectors of its length, and what both methods do with them.
class Method : public linear::Iteration {
 public:
  Method(const linear::Csr& matrix, const std::vector<double>& b, int device) : device_(device), n_(matrix.rows) {
    if (matrix.begin.back() > std::numeric_limits<std::int32_t>::max())
      throw InvalidInput("the matrix has " + std::to_string(matrix.begin.back()) +
                         " entries; cuSPARSE takes less than 2^31 here");
    CHECK_CUDA(cudaSetDevice(device));
    begin_ = DeviceBuffer<std::int32_t>(std::vector<std::int32_t>(matrix.begin.begin(), matrix.begin.end()));
    column_ = DeviceBuffer<std::int32_t>(matrix.column);
    value_ = DeviceBuffer<double>(matrix.value);
    b_ = DeviceBuffer<double>(b);
    x_ = vector();
    CHECK_LIBRARY(cublasCreate(&blas_));
    CHECK_LIBRARY(cusparseCreate(&sparse_));
    CHECK_LIBRARY(cusparseCreateCsr(&matrix_, n_, n_, matrix.begin.back(), begin_.data(), column_.data(), value_.data(),
                                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    CHECK_LIBRARY(cusparseCreateDnVec(&in_, n_, x_.data(), CUDA_R_64F));
    CHECK_LIBRARY(cusparseCreateDnVec(&out_, n_, x_.data(), CUDA_R_64F));
    const double one = 1;
    std::size_t bytes = 0;
    CHECK_LIBRARY(cusparseSpMV_bufferSize(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, in_, &one, out_,
                                          CUDA_R_64F, CUSPARSE_SPMV_CSR_ALG1, &bytes));
    workspace_ = DeviceBuffer<char>(bytes + 1);
  }
  ~Method() override {
    cusparseDestroyDnVec(out_);
    cusparseDestroyDnVec(in_);
    cusparseDestroySpMat(matrix_);
    cusparseDestroy(sparse_);
    cublasDestroy(blas_);
  }
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  double run(std::int64_t iterations) override {
    CHECK_CUDA(cudaSetDevice(device_));
    timer_.start();
    CHECK_CUDA(cudaMemsetAsync(x_.data(), 0, x_.bytes()));
    iterate(iterations);
    return timer_.stop();
  }

  std::vector<double> x() const override { return x_.to_host(); }

 protected:
  virtual void iterate(std::int64_t iterations) = 0;

  DeviceBuffer<double> vector() const { return DeviceBuffer<double>(static_cast<std::size_t>(n_)); }
  void copy(const DeviceBuffer<double>& from, DeviceBuffer<double>& to) {
    CHECK_CUDA(cudaMemcpyAsync(to.data(), from.data(), to.bytes(), cudaMemcpyDeviceToDevice));
  }
  /// y = matrix x + beta y
  void multiply(DeviceBuffer<double>& x, double beta, DeviceBuffer<double>& y) {
    const double one = 1;
    CHECK_LIBRARY(cusparseDnVecSetValues(in_, x.data()));
    CHECK_LIBRARY(cusparseDnVecSetValues(out_, y.data()));
    CHECK_LIBRARY(cusparseSpMV(sparse_, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix_, in_, &beta, out_, CUDA_R_64F,
                               CUSPARSE_SPMV_CSR_ALG1, workspace_.data()));
  }
  double dot(const DeviceBuffer<double>& x, const DeviceBuffer<double>& y) {
    double result = 0;
    CHECK_LIBRARY(cublasDdot(blas_, static_cast<int>(n_), x.data(), 1, y.data(), 1, &result));
    return result;
  }
  /// y += alpha x
  void add(double alpha, const DeviceBuffer<double>& x, DeviceBuffer<double>& y) {
    CHECK_LIBRARY(cublasDaxpy(blas_, static_cast<int>(n_), &alpha, x.data(), 1, y.data(), 1));
  }
  void scale(double alpha, DeviceBuffer<double>& x) {
    CHECK_LIBRARY(cublasDscal(blas_, static_cast<int>(n_), &alpha, x.data(), 1));
  }

  DeviceBuffer<double> b_, x_;

 private:
  int device_;
  std::int64_t n_;
  DeviceBuffer<std::int32_t> begin_, column_;
  DeviceBuffer<double> value_;
  DeviceBuffer<char> workspace_;
  cublasHandle_t blas_ = nullptr;
  cusparseHandle_t sparse_ = nullptr;
  cusparseSpMatDescr_t matrix_ = nullptr;
  cusparseDnVecDescr_t in_ = nullptr, out_ = nullptr;
  Timer timer_;
};

class Richardson : public Method {
 public:
  Richardson(const linear::Scaled& system, int device) : Method(system.h, system.b, device), next_(vector()) {}

 private:
  void iterate(std::int64_t iterations) override {
    for (std::int64_t i = 0; i < iterations; ++i) {
      copy(b_, next_);
      multiply(x_, 1, next_);
      x_.swap(next_);
    }
  }

  DeviceBuffer<double> next_;
};

class ConjugateGradients : public Method {
 public:
  ConjugateGradients(const linear::System& system, int device)
      : Method(system.a, system.b, device), residual_(vector()), direction_(vector()), image_(vector()) {}

 private:
  void iterate(std::int64_t iterations) override {
    copy(b_, residual_);
    copy(b_, direction_);
    double square = dot(residual_, residual_);
    for (std::int64_t i = 0; i < iterations && square > 0; ++i) {
      multiply(direction_, 0, image_);
      const double alpha = square / dot(direction_, image_);
      add(alpha, direction_, x_);
      add(-alpha, image_, residual_);
      const double before = std::exchange(square, dot(residual_, residual_));
      scale(square / before, direction_);
      add(1, residual_, direction_);
    }
  }

  DeviceBuffer<double> residual_, direction_, image_;
};

}  // namespace

std::unique_ptr<linear::Iteration> make_richardson(const linear::Scaled& system, int device) {
  return std::make_unique<Richardson>(system, device);
}

std::unique_ptr<linear::Iteration> make_conjugate_gradients(const linear::System& system, int device) {
  return std::make_unique<ConjugateGradients>(system, device);
}

}  // namespace psflip::gpu
