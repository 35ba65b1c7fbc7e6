#include "06_prng/linear_solver/systems/matrix_market.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "app/files/text_file.hpp"
#include "app/text.hpp"

namespace psflip::linear {
namespace {

/// A file of one of the two formats, after its first line.
class File {
 public:
  File(const std::string& path, const std::string& format) : text_(path) {
    const auto line = text_.next();
    const Words words = split(line.value_or(""));
    std::array<std::string, 6> word;
    for (std::size_t i = 0; i < words.count; ++i) {
      for (const char c : words.word[i]) word[i] += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    const auto& [banner, object, found, field, symmetry, more] = word;
    if (banner != "%%matrixmarket" || object != "matrix" || words.count != 5)
      refuse("no Matrix Market file: it begins with %%MatrixMarket matrix FORMAT FIELD SYMMETRY");
    const auto take = [&](const char* what, const std::string& value, const std::vector<std::string>& allowed) {
      if (!std::ranges::count(allowed, value))
        refuse("the " + std::string(what) + " is " + in_quotes(value) + "; it must be " + joined(allowed, " or "));
    };
    take("format", found, {format});
    take("field", field, {"real", "integer"});
    take("symmetry", symmetry,
         format == "array" ? std::vector<std::string>{"general"} : std::vector<std::string>{"general", "symmetric"});
    whole_ = field == "integer";
    symmetric_ = symmetry == "symmetric";
  }

  bool symmetric() const { return symmetric_; }
  std::int64_t line() const { return text_.number(); }
  [[noreturn]] void refuse(const std::string& what) const { text_.refuse(what); }
  [[noreturn]] void refuse(std::int64_t line, const std::string& what) const { text_.refuse(line, what); }

  /// The words of the next line that has any, and is no comment; none at the end of the file. Valid until the next
  /// call.
  Words next() {
    while (const auto line = text_.next()) {
      const Words words = split(*line);
      if (words.count > 0 && !words.word[0].starts_with('%')) return words;
    }
    return {};
  }

  /// The numbers of the size line, as many as `form` has words.
  std::vector<std::int64_t> size(const std::string& form) {
    const Words words = next();
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < words.count; ++i) {
      const auto number = number_in<std::int64_t>(words.word[i]);
      if (number && *number >= 0) numbers.push_back(*number);
    }
    if (words.count != split(form).count || numbers.size() != words.count)
      refuse("there must be a size here, \"" + form + "\", in whole numbers");
    return numbers;
  }

  /// The words of the entry that is next, of `all`; as many as `form` has.
  Words entry(std::int64_t done, std::int64_t all, const std::string& form) {
    const Words words = next();
    if (words.count == 0)
      refuse("the file ends after " + std::to_string(done) + " of " + std::to_string(all) + " entries");
    if (words.count != split(form).count) refuse("there must be an entry here, \"" + form + "\"");
    return words;
  }

  void expect_end(std::int64_t all) {
    if (next().count > 0) refuse("more text after the last of " + std::to_string(all) + " entries");
  }

  std::int32_t index(std::string_view word, std::int64_t rows) const {
    const auto number = number_in<std::int32_t>(word);
    if (!number || *number < 1 || *number > rows)
      refuse("there is no row or column " + in_quotes(word) + ": allowed are 1 to " + std::to_string(rows));
    return *number - 1;
  }

  double value(std::string_view word) const {
    const auto number = number_in<double>(word);
    if (!number) refuse("the value is " + in_quotes(word) + "; it must be a finite number");
    if (whole_ && !number_in<std::int64_t>(word))
      refuse("the value is " + in_quotes(word) + "; in an integer file it must be a whole number");
    return *number;
  }

 private:
  TextFile text_;
  bool whole_ = false, symmetric_ = false;
};

struct Entry {
  std::int32_t row, column;
  double value;
  std::int64_t line;
};

}  // namespace

Csr read_matrix(const std::string& path) {
  File file(path, "coordinate");
  const std::vector<std::int64_t> size = file.size("rows columns entries");
  const std::int64_t rows = size[0], count = size[2];
  const auto shape = std::to_string(rows) + " x " + std::to_string(size[1]);
  if (rows != size[1]) file.refuse("a matrix of " + shape + "; it must be square");
  if (rows < 1 || rows > most_rows)
    file.refuse("a matrix of " + shape + "; it must have 1 to " + std::to_string(most_rows) + " rows");
  if (count < rows)
    file.refuse(std::to_string(count) +
                " entries, fewer than rows: so zeros on the diagonal, by which the method divides");

  std::vector<Entry> entries;
  for (std::int64_t done = 0; done < count; ++done) {
    const Words words = file.entry(done, count, "row column value");
    const Entry entry{file.index(words.word[0], rows), file.index(words.word[1], rows), file.value(words.word[2]),
                      file.line()};
    entries.push_back(entry);
    if (!file.symmetric() || entry.row == entry.column) continue;
    if (entry.row < entry.column)
      file.refuse("the entry is above the diagonal; a symmetric file has those on it and below");
    entries.push_back({entry.column, entry.row, entry.value, entry.line});
  }
  file.expect_end(count);

  const auto place = [](const Entry& entry) { return std::tuple(entry.row, entry.column, entry.line); };
  std::ranges::sort(entries, {}, place);
  Csr matrix;
  matrix.rows = rows;
  matrix.begin.assign(static_cast<std::size_t>(rows) + 1, 0);
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const auto& [row, column, value, line] = entries[k];
    if (k > 0 && entries[k - 1].row == row && entries[k - 1].column == column)
      file.refuse(line, "this entry is in line " + std::to_string(entries[k - 1].line) + " already");
    ++matrix.begin[row + 1];
    matrix.column.push_back(column);
    matrix.value.push_back(value);
  }
  for (std::int64_t row = 0; row < rows; ++row) matrix.begin[row + 1] += matrix.begin[row];
  return matrix;
}

std::vector<double> read_vector(const std::string& path, std::int64_t rows) {
  File file(path, "array");
  const std::vector<std::int64_t> size = file.size("rows columns");
  if (size[0] != rows || size[1] != 1)
    file.refuse(std::to_string(size[0]) + " x " + std::to_string(size[1]) + " entries; it must have " +
                std::to_string(rows) + " x 1");
  std::vector<double> b;
  while (std::ssize(b) < rows) b.push_back(file.value(file.entry(std::ssize(b), rows, "value").word[0]));
  file.expect_end(rows);
  return b;
}

}  // namespace psflip::linear
