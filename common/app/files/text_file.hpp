/// Files of lines with words and numbers: what every reader of such a file does, and how it refuses one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace psflip {

/// As a message may show it: printable, short, in quotes.
std::string in_quotes(std::string_view text);

/// The words of a line, between blanks and tabs. There are six at most; the last stands for all that follow.
struct Words {
  std::array<std::string_view, 6> word;
  std::size_t count = 0;
};
Words split(std::string_view line);

/// The lines of a file, one after the other. Every error is an InvalidInput of one line that names the file.
class TextFile {
 public:
  static constexpr std::size_t longest_line = 1024;  ///< characters, without the line's end

  explicit TextFile(std::string path);

  /// The next line without its end, LF or CR LF, which the last one need not have; nothing at the end of the file.
  /// Valid until the next call. Refuses a line that is too long or has a zero byte.
  std::optional<std::string_view> next();
  /// The number of the line that next() gave last, from 1; at the end of the file, of the one that is not there.
  std::int64_t number() const { return number_; }

  /// Refuses the file because of the last line that next() gave, or of another one: "path: line 3: what".
  [[noreturn]] void refuse(const std::string& what) const { refuse(number_, what); }
  [[noreturn]] void refuse(std::int64_t line, const std::string& what) const;

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::array<char, longest_line + 1> buffer_;  ///< a line and a CR
  std::int64_t number_ = 0;
};

}  // namespace psflip
