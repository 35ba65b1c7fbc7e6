#include "06_prng/linear_solver/systems/matrix_market.hpp"

#include <cholmod.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "app/invalid_input.hpp"

namespace psflip::linear {
namespace {

/// CHOLMOD's workspace and settings, and what it made.
class Cholmod {
 public:
  Cholmod() {
    cholmod_l_start(&common_);
    common_.print = 0;  // no messages of its own
  }
  ~Cholmod() { cholmod_l_finish(&common_); }
  Cholmod(const Cholmod&) = delete;
  Cholmod& operator=(const Cholmod&) = delete;

  auto owned(cholmod_sparse* matrix) {
    const auto release = [this](cholmod_sparse* m) { cholmod_l_free_sparse(&m, &common_); };
    return std::unique_ptr<cholmod_sparse, decltype(release)>(matrix, release);
  }
  auto owned(cholmod_dense* matrix) {
    const auto release = [this](cholmod_dense* m) { cholmod_l_free_dense(&m, &common_); };
    return std::unique_ptr<cholmod_dense, decltype(release)>(matrix, release);
  }

  cholmod_common* common() { return &common_; }
  /// Whether the last call returned nothing for want of memory.
  bool ran_out() const { return common_.status == CHOLMOD_OUT_OF_MEMORY; }

 private:
  cholmod_common common_;
};

/// An open file whose first line says that it is of the wanted format. CHOLMOD would also take files without that line,
/// and make values for a file without any.
class File {
 public:
  File(const std::string& path, const std::string& format) : path_(path), stream_(std::fopen(path.c_str(), "r")) {
    if (!stream_) fail("cannot be opened");
    std::string line;
    for (int c; (c = std::fgetc(stream_.get())) != EOF && c != '\n' && line.size() < 1000;) {
      line += static_cast<char>(std::tolower(c));
    }
    std::istringstream words(line);
    std::string banner, object, found, field, symmetry;
    words >> banner >> object >> found >> field >> symmetry;
    if (banner != "%%matrixmarket" || object != "matrix") fail("is no Matrix Market file: no %%MatrixMarket matrix");
    if (found != format) fail("has the format '" + found + "'; it must be '" + format + "'");
    if (field != "real" && field != "integer")
      fail("has entries that are '" + field + "'; they must be 'real' or 'integer'");
    if (symmetry != "general" && (symmetry != "symmetric" || format == "array"))
      fail("has the symmetry '" + symmetry + "', which cannot be read");
    check_size(format == "array" ? 2 : 3);
    std::rewind(stream_.get());
  }

  std::FILE* stream() { return stream_.get(); }

  [[noreturn]] void fail_malformed() const { fail("is malformed: its lines are not what the first ones promise"); }

  [[noreturn]] void fail(const std::string& what) const { throw InvalidInput(path_ + ": the file " + what); }

 private:
  /// The next line that is not blank or a comment; empty if there is none.
  std::string next_line() {
    char buffer[1024];
    while (std::fgets(buffer, sizeof buffer, stream_.get())) {
      const std::string line = buffer;
      const std::size_t first = line.find_first_not_of(" \t\r\n");
      if (first != std::string::npos && line[first] != '%') return line;
    }
    return "";
  }

  /// CHOLMOD takes memory for whatever the size line says, loses it where a file ends too early, and does not look for
  /// what comes too late. So sizes are checked, and entries are counted, before.
  void check_size(int numbers) {
    std::array<long double, 3> size{};  // holds what no integer would
    std::istringstream words(next_line());
    for (int i = 0; i < numbers; ++i) words >> size[i];
    if (!words) fail_malformed();
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    if (!(size[0] >= 1 && size[0] <= most && size[1] >= 1 && size[1] <= most))
      fail("has rows or columns that are less than 1 or more than " + std::to_string(most));
    if (numbers == 3 && size[0] != size[1])
      fail("has a matrix of " + number(size[0]) + " x " + number(size[1]) + "; it must be square");
    if (numbers == 3 && size[2] < size[0])
      fail("has fewer entries than rows, so zeros on the diagonal, by which the method divides");
    std::int64_t entries = 0;
    while (!next_line().empty()) ++entries;
    const long double promised = numbers == 3 ? size[2] : size[0] * size[1];
    if (promised != static_cast<long double>(entries))
      fail("has " + std::to_string(entries) + " entries, which are not as many as it promises");
  }

  static std::string number(long double value) { return std::to_string(static_cast<std::int64_t>(value)); }

  struct Close {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> stream_;
};

}  // namespace

Csr read_matrix(const std::string& path) {
  File file(path, "coordinate");
  Cholmod cholmod;
  const auto read = cholmod.owned(cholmod_l_read_sparse(file.stream(), cholmod.common()));
  if (!read && cholmod.ran_out()) throw std::bad_alloc();
  if (!read) file.fail_malformed();
  // By columns, of the transposed matrix: by rows. Stored symmetrically, it is expanded first.
  const auto whole = cholmod.owned(cholmod_l_copy(read.get(), 0, 1, cholmod.common()));
  const auto rows = cholmod.owned(whole ? cholmod_l_transpose(whole.get(), 1, cholmod.common()) : nullptr);
  if (!rows) throw std::bad_alloc();

  const auto* const begin = static_cast<const std::int64_t*>(rows->p);
  const auto* const column = static_cast<const std::int64_t*>(rows->i);
  const auto* const value = static_cast<const double*>(rows->x);
  Csr matrix;
  matrix.rows = static_cast<std::int64_t>(rows->ncol);
  matrix.begin.assign(begin, begin + matrix.rows + 1);
  matrix.column.assign(column, column + matrix.begin.back());
  matrix.value.assign(value, value + matrix.begin.back());
  if (!std::ranges::all_of(matrix.value, [](double entry) { return std::isfinite(entry); }))
    file.fail("has an entry that is not a finite number");
  return matrix;
}

std::vector<double> read_vector(const std::string& path, std::int64_t rows) {
  File file(path, "array");
  Cholmod cholmod;
  const auto read = cholmod.owned(cholmod_l_read_dense(file.stream(), cholmod.common()));
  if (!read && cholmod.ran_out()) throw std::bad_alloc();
  if (!read) file.fail_malformed();
  if (read->ncol != 1 || static_cast<std::int64_t>(read->nrow) != rows)
    file.fail("has " + std::to_string(read->nrow) + " x " + std::to_string(read->ncol) + " entries; it must have " +
              std::to_string(rows) + " x 1");
  const auto* const value = static_cast<const double*>(read->x);
  std::vector<double> b(value, value + rows);
  if (!std::ranges::all_of(b, [](double entry) { return std::isfinite(entry); }))
    file.fail("has an entry that is not a finite number");
  return b;
}

}  // namespace psflip::linear
