// Matrix Market files, matrices and vectors: what is read can be written and read back.
#include <cmath>

#include "06_prng/linear_solver/systems/matrix_market.hpp"
#include "fuzz/target.hpp"

using namespace psflip;
using namespace psflip::linear;

namespace {

std::string exactly(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g\n", value);
  return text;
}

void check_matrix(const Csr& matrix) {
  fuzz::expect(matrix.rows >= 1 && std::ssize(matrix.begin) == matrix.rows + 1 && matrix.begin.front() == 0 &&
                   matrix.begin.back() == std::ssize(matrix.column) && matrix.column.size() == matrix.value.size(),
               "arrays that fit together");
  std::string text = "%%MatrixMarket matrix coordinate real general\n" + std::to_string(matrix.rows) + " " +
                     std::to_string(matrix.rows) + " " + std::to_string(matrix.value.size()) + "\n";
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    fuzz::expect(matrix.begin[i] <= matrix.begin[i + 1], "rows in order");
    for (std::int64_t k = matrix.begin[i]; k < matrix.begin[i + 1]; ++k) {
      const std::int32_t column = matrix.column[k];
      fuzz::expect(column >= 0 && column < matrix.rows, "columns of the matrix");
      fuzz::expect(k == matrix.begin[i] || matrix.column[k - 1] < column, "columns ascending, each but once");
      fuzz::expect(std::isfinite(matrix.value[k]), "finite values");
      text += std::to_string(i + 1) + " " + std::to_string(column + 1) + " " + exactly(matrix.value[k]);
    }
  }
  static fuzz::MemoryFile file;
  file.set(text);
  const Csr back = read_matrix(file.path());
  fuzz::expect(back.rows == matrix.rows && back.begin == matrix.begin && back.column == matrix.column &&
                   back.value == matrix.value,
               "what is written is read back");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t rows = 3;  // of the corpus' vectors
  static fuzz::MemoryFile file;
  file.set({data, size});
  if (const auto matrix = fuzz::accepted(file, read_matrix)) check_matrix(*matrix);
  if (const auto vector = fuzz::accepted(file, [](const std::string& path) { return read_vector(path, rows); })) {
    std::string text = "%%MatrixMarket matrix array real general\n" + std::to_string(rows) + " 1\n";
    for (const double value : *vector) text += exactly(value);
    file.set(text);
    fuzz::expect(read_vector(file.path(), rows) == *vector, "what is written is read back");
  }
  return 0;
}
