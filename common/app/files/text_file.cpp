#include "app/files/text_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "app/invalid_input.hpp"

namespace psflip {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string shown(text.substr(0, most));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return '"' + shown + (text.size() > most ? "...\"" : "\"");
}

Words split(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  Words words;
  while (words.count < words.word.size()) {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    if (line.empty()) break;
    const std::size_t length = std::min(line.find_first_of(blanks), line.size());
    words.word[words.count++] = line.substr(0, length);
    line.remove_prefix(length);
  }
  return words;
}

TextFile::TextFile(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "rb"), std::fclose) {
  if (file_ == nullptr) throw InvalidInput(path_ + ": cannot be opened: " + std::strerror(errno));
}

std::optional<std::string_view> TextFile::next() {
  ++number_;
  std::size_t length = 0;
  int next = 0;
  while ((next = getc_unlocked(file_.get())) != '\n' && next != EOF) {
    if (next == '\0' || length == buffer_.size()) break;
    buffer_[length++] = static_cast<char>(next);
  }
  if (std::ferror(file_.get()) != 0) throw InvalidInput(path_ + ": cannot be read: " + std::strerror(errno));
  if (next == EOF && length == 0) return std::nullopt;
  std::string_view line(buffer_.data(), length);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if ((next != '\n' && next != EOF) || line.size() > longest_line)
    refuse("no line of text, or longer than " + std::to_string(longest_line) + " characters");
  return line;
}

void TextFile::refuse(std::int64_t line, const std::string& what) const {
  throw InvalidInput(path_ + ": line " + std::to_string(line) + ": " + what);
}

}  // namespace psflip
