#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "app/files/output_file.hpp"

namespace psflip::spin_glass {

/// A table of results as a file, CSV or JSON, that also says what was run.
///
/// CSV: a comment line "# key: value" for every member of the header, the value as one line of JSON; the names of the
/// columns; a line a row, where an empty cell stays empty. JSON: one object, the header's members and "rows", a list of
/// objects with the columns' names, where an empty cell is null.
class ResultTable {
 public:
  using Header = nlohmann::ordered_json;                            ///< an object
  using Cell = std::variant<std::monostate, std::int64_t, double>;  ///< nothing: an empty cell

  /// Opens the file at once. CSV for a name that ends in .csv or lies in /dev (/dev/stdout), JSON for one that ends in
  /// .json; InvalidInput, as of `option`, for any other name, and for a place where nothing can be written.
  ResultTable(const std::string& option, const std::string& path);

  OutputFile& file() { return file_; }
  const OutputFile& file() const { return file_; }

  /// The beginning. `columns` are plain words.
  void write_header(const Header& header, const std::vector<std::string>& columns);
  /// One cell for every column. Numbers are written so that they can be read back exactly.
  void write_row(const std::vector<Cell>& cells);
  /// The end. Does not commit.
  void write_end();

 private:
  void put(const std::string& text);

  bool json_;
  OutputFile file_;
  std::vector<std::string> columns_;
  bool has_rows_ = false;
};

/// The cell's value; null for an empty one.
nlohmann::ordered_json as_json(const ResultTable::Cell& cell);

/// JSON in one line (indent -1) or several. A file name need not be UTF-8: what is not, is replaced.
std::string text_of(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace psflip::spin_glass
