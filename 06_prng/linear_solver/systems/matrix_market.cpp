#include "06_prng/linear_solver/systems/matrix_market.hpp"

#include <cholmod.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "app/invalid_input.hpp"

namespace psflip::linear {
namespace {

/// CHOLMOD's workspace and settings.
class Cholmod {
 public:
  Cholmod() {
    cholmod_l_start(&common_);
    common_.print = 0;  // no messages of its own
  }
  ~Cholmod() { cholmod_l_finish(&common_); }
  Cholmod(const Cholmod&) = delete;
  Cholmod& operator=(const Cholmod&) = delete;

  /// What CHOLMOD made, to be freed by its own function.
  template <class T>
  auto owned(T* made, int (*free)(T**, cholmod_common*)) {
    const auto release = [this, free](T* object) { free(&object, &common_); };
    return std::unique_ptr<T, decltype(release)>(made, release);
  }

  cholmod_common* common() { return &common_; }
  /// Whether the last call returned nothing for want of memory.
  bool ran_out() const { return common_.status == CHOLMOD_OUT_OF_MEMORY; }

 private:
  cholmod_common common_;
};

/// A file of the wanted format, with as many entries as its size line says. CHOLMOD would also take a file without the
/// first line, make values for one without any, take memory for whatever the size line says, lose it where a file ends
/// too early, and not look for what comes too late.
class File {
 public:
  File(const std::string& path, const std::string& format) : path_(path) {
    std::ifstream text(path);
    if (!text) fail("cannot be opened");
    std::string line;
    std::getline(text, line);
    std::ranges::transform(line, line.begin(), [](unsigned char c) { return std::tolower(c); });
    std::istringstream words(line);
    std::string banner, object, found, field, symmetry;
    words >> banner >> object >> found >> field >> symmetry;
    if (banner != "%%matrixmarket" || object != "matrix") fail("is no Matrix Market file: no %%MatrixMarket matrix");
    if (found != format) fail("has the format '" + found + "'; it must be '" + format + "'");
    if (field != "real" && field != "integer")
      fail("has entries that are '" + field + "'; they must be 'real' or 'integer'");
    if (symmetry != "general" && (symmetry != "symmetric" || format == "array"))
      fail("has the symmetry '" + symmetry + "', which cannot be read");
    check_size(text, format == "array" ? 2 : 3);
    stream_.reset(std::fopen(path.c_str(), "r"));
    if (!stream_) fail("cannot be opened");
  }

  std::FILE* stream() { return stream_.get(); }

  [[noreturn]] void fail_malformed() const { fail("is malformed: its lines are not what the first ones promise"); }

  [[noreturn]] void fail(const std::string& what) const { throw InvalidInput(path_ + ": the file " + what); }

 private:
  void check_size(std::istream& text, int numbers) {
    std::string size_line;
    std::int64_t entries = -1;  // lines after that one; blank ones and comments do not count
    for (std::string line; std::getline(text, line);) {
      const std::size_t first = line.find_first_not_of(" \t\r");
      if (first != std::string::npos && line[first] != '%' && ++entries == 0) size_line = line;
    }
    std::array<long double, 3> size{};  // holds what no integer would
    std::istringstream words(size_line);
    for (int i = 0; i < numbers; ++i) words >> size[i];
    if (!words) fail_malformed();
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    if (!(size[0] >= 1 && size[0] <= most && size[1] >= 1 && size[1] <= most))
      fail("has rows or columns that are less than 1 or more than " + std::to_string(most));
    if (numbers == 3 && size[0] != size[1])
      fail("has a matrix of " + number(size[0]) + " x " + number(size[1]) + "; it must be square");
    if (numbers == 3 && size[2] < size[0])
      fail("has fewer entries than rows, so zeros on the diagonal, by which the method divides");
    const long double promised = numbers == 3 ? size[2] : size[0] * size[1];
    if (promised != static_cast<long double>(entries))
      fail("has " + std::to_string(entries) + " entries, which are not as many as it promises");
  }

  static std::string number(long double value) { return std::to_string(static_cast<std::int64_t>(value)); }

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream_{nullptr, std::fclose};
};

void refuse_what_is_not_finite(const File& file, const std::vector<double>& values) {
  if (!std::ranges::all_of(values, [](double entry) { return std::isfinite(entry); }))
    file.fail("has an entry that is not a finite number");
}

}  // namespace

Csr read_matrix(const std::string& path) {
  File file(path, "coordinate");
  Cholmod cholmod;
  const auto read = cholmod.owned(cholmod_l_read_sparse(file.stream(), cholmod.common()), cholmod_l_free_sparse);
  if (!read && cholmod.ran_out()) throw std::bad_alloc();
  if (!read) file.fail_malformed();
  // By columns, of the transposed matrix: by rows. Stored symmetrically, it is expanded first.
  const auto whole = cholmod.owned(cholmod_l_copy(read.get(), 0, 1, cholmod.common()), cholmod_l_free_sparse);
  const auto rows =
      cholmod.owned(whole ? cholmod_l_transpose(whole.get(), 1, cholmod.common()) : nullptr, cholmod_l_free_sparse);
  if (!rows) throw std::bad_alloc();

  const auto* const begin = static_cast<const std::int64_t*>(rows->p);
  const auto* const column = static_cast<const std::int64_t*>(rows->i);
  const auto* const value = static_cast<const double*>(rows->x);
  Csr matrix;
  matrix.rows = static_cast<std::int64_t>(rows->ncol);
  matrix.begin.assign(begin, begin + matrix.rows + 1);
  matrix.column.assign(column, column + matrix.begin.back());
  matrix.value.assign(value, value + matrix.begin.back());
  refuse_what_is_not_finite(file, matrix.value);
  return matrix;
}

std::vector<double> read_vector(const std::string& path, std::int64_t rows) {
  File file(path, "array");
  Cholmod cholmod;
  const auto read = cholmod.owned(cholmod_l_read_dense(file.stream(), cholmod.common()), cholmod_l_free_dense);
  if (!read && cholmod.ran_out()) throw std::bad_alloc();
  if (!read) file.fail_malformed();
  if (read->ncol != 1 || static_cast<std::int64_t>(read->nrow) != rows)
    file.fail("has " + std::to_string(read->nrow) + " x " + std::to_string(read->ncol) + " entries; it must have " +
              std::to_string(rows) + " x 1");
  const auto* const value = static_cast<const double*>(read->x);
  std::vector<double> b(value, value + rows);
  refuse_what_is_not_finite(file, b);
  return b;
}

}  // namespace psflip::linear
