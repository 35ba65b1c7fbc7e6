#include "spin_glass/run/result_table.hpp"

#include <charconv>
#include <cstdio>
#include <type_traits>

#include "app/invalid_input.hpp"

namespace psflip::spin_glass {
namespace {

/// The shortest text that reads back as the same number.
std::string text_of(const ResultTable::Cell& cell, const std::string& empty) {
  return std::visit(
      [&](auto value) -> std::string {
        char digits[32];
        if constexpr (std::is_same_v<decltype(value), std::monostate>)
          return empty;
        else
          return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
      },
      cell);
}

/// Whether a name asks for JSON.
bool asks_for_json(const std::string& option, const std::string& path) {
  if (path.ends_with(".json")) {
    return true;
  }
  if (path.ends_with(".csv") || path.starts_with("/dev/")) {
    return false;
  }
  throw InvalidInput(option + " " + path + ": the name has to end in .csv or .json");
}

}  // namespace

ResultTable::ResultTable(const std::string& option, const std::string& path)
    : json_(asks_for_json(option, path)), file_(path) {}

void ResultTable::write_header(const Header& header, const std::vector<std::string>& columns) {
  columns_ = columns;
  if (json_) {
    std::string text = spin_glass::text_of(header, 2);
    text.resize(text.rfind("\n}"));
    put(text + ",\n  \"rows\": [");
    return;
  }
  for (const auto& [key, value] : header.items()) {
    put("# " + key + ": " + spin_glass::text_of(value) + "\n");
  }
  std::string line;
  for (const std::string& column : columns) {
    line += (line.empty() ? "" : ",") + column;
  }
  put(line + "\n");
}

void ResultTable::write_row(const std::vector<Cell>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) {
      line += json_ ? ", " : ",";
    }
    if (json_) {
      line += '"';
      line += columns_[i];
      line += "\": ";
    }
    line += text_of(cells[i], json_ ? "null" : "");
  }
  if (!json_) {
    put(line + "\n");
  } else {
    put(has_rows_ ? ",\n    {" : "\n    {");
    put(line + "}");
  }
  has_rows_ = true;
}

void ResultTable::write_end() {
  if (json_) {
    put("\n  ]\n}\n");
  }
  file_.flush();
}

/// An error is remembered by the stream, and flush() throws it.
void ResultTable::put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), file_.stream()); }

nlohmann::ordered_json as_json(const ResultTable::Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return nullptr;
}

std::string text_of(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace psflip::spin_glass
