#include "majority/pbm.hpp"

#include <cctype>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "app/invalid_input.hpp"
#include "app/text.hpp"

namespace psflip::majority {
namespace {

class Bitmap {
 public:
  explicit Bitmap(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rb"), std::fclose) {
    if (file_ == nullptr) throw InvalidInput(path + ": cannot be read: " + std::strerror(errno));
  }

  /// What begins after white space and ends before it, whose first character is left out, too. A raster begins then.
  std::string word() {
    int next = 0;
    do next = character();
    while (next != EOF && std::isspace(next) != 0);
    std::string word;
    constexpr std::size_t longest = 20;  // there are no longer numbers
    for (; next != EOF && std::isspace(next) == 0 && word.size() <= longest; next = character()) {
      word += static_cast<char>(next);
    }
    return word;
  }

  /// The next character. A comment, from # to the end of its line, counts as that end.
  int character() {
    int next = byte();
    if (next == '#') {
      while (next != EOF && next != '\n') next = byte();
    }
    return next;
  }

  /// Reads up to so many bytes, and says how many there were.
  std::size_t read(std::uint8_t* to, std::size_t bytes) {
    const std::size_t found = std::fread(to, 1, bytes, file_.get());
    check();
    return found;
  }

 private:
  void check() const {
    if (std::ferror(file_.get()) != 0) throw InvalidInput(path_ + ": cannot be read: " + std::strerror(errno));
  }
  int byte() {
    const int next = getc_unlocked(file_.get());
    if (next == EOF) check();
    return next;
  }

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace

Lattice read_pbm(const std::string& path, std::int64_t largest_size) {
  const auto refuse = [&](const std::string& what) { throw InvalidInput(path + ": " + what); };
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) refuse("is a directory, not a PBM file");
  Bitmap file(path);
  const std::string format = file.word();
  if (format != "P1" && format != "P4") refuse("not a PBM file, which begins with P1 or P4");
  const auto columns = number_in<std::int64_t>(file.word()), rows = number_in<std::int64_t>(file.word());
  if (!columns || !rows) refuse("not a PBM file: after " + format + " come the numbers of columns and of rows");
  const std::string shape = std::to_string(*columns) + " x " + std::to_string(*rows);
  if (*columns != *rows || *columns < 1) refuse(shape + " pixels; a lattice is square and at least 1 x 1");
  if (*columns > largest_size)
    refuse(shape + " pixels; memory suffices for " + std::to_string(largest_size) + " on a side");

  const auto size = static_cast<std::size_t>(*columns);
  Lattice lattice{*columns, {}};
  // Reserved, not filled: a short file with a huge size in its header then costs no more memory than it has rows.
  lattice.spins.reserve(size * size);
  std::vector<std::uint8_t> row((size + 7) / 8);
  while (lattice.spins.size() < size * size) {
    if (format == "P4") {
      if (file.read(row.data(), row.size()) < row.size()) break;
      for (std::size_t x = 0; x < size; ++x) lattice.spins.push_back(row[x / 8] >> (7 - x % 8) & 1 ? 1 : -1);
    } else {
      const int next = file.character();
      if (next == EOF) break;
      if (std::isspace(next) != 0) continue;
      if (next != '0' && next != '1') refuse("the pixels of P1 are 0 and 1, and there is something else");
      lattice.spins.push_back(next == '1' ? 1 : -1);
    }
  }
  if (lattice.spins.size() < size * size)
    refuse("not a complete PBM file: it ends before the last of " + shape + " pixels");
  for (std::uint8_t next = 0; file.read(&next, 1) == 1;) {
    if (std::isspace(next) == 0) refuse("data after the last of " + shape + " pixels; one bitmap is allowed");
  }
  return lattice;
}

void write_pbm(OutputFile& file, const Lattice& lattice, PbmFormat format) {
  constexpr std::size_t longest_line = 70;  // of a plain one, says the format
  const auto size = static_cast<std::size_t>(lattice.size);
  const bool plain = format == PbmFormat::plain;
  std::fprintf(file.stream(), "P%d\n%" PRId64 " %" PRId64 "\n", plain ? 1 : 4, lattice.size, lattice.size);
  std::string row;
  for (std::size_t y = 0; y < size; ++y) {
    row.assign(plain ? 0 : (size + 7) / 8, '\0');
    for (std::size_t x = 0; x < size; ++x) {
      const bool up = lattice.spins[size * y + x] > 0;
      if (!plain) {
        row[x / 8] = static_cast<char>(row[x / 8] | up << (7 - x % 8));
        continue;
      }
      if (x > 0 && x % longest_line == 0) row += '\n';
      row += up ? '1' : '0';
    }
    if (plain) row += '\n';
    std::fwrite(row.data(), 1, row.size(), file.stream());
  }
  file.flush();  // throws if a call above failed
}

}  // namespace psflip::majority
