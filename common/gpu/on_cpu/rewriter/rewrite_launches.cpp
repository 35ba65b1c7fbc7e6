// rewrite_launches input.cu output.cpp: the two things in CUDA C++ that a C++ compiler cannot parse, made calls, and
// one that it would not see.
//
//   kernel<T><<<grid, block>>>(arguments)  ->  CUDA_ON_CPU_LAUNCH((kernel<T>), grid, block)(arguments)
//   extern __shared__ T name[];            ->  T* name = ::cuda_on_cpu::dynamic_shared<T>();
//   __launch_bounds__(most) kernel() {     ->  ... { if (::cuda_on_cpu::refuses_block(most)) return;
//
// Everything else, line breaks included, stays where it is, so that messages and debuggers show the source's lines.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

constexpr auto none = std::string::npos;

struct Mistake : std::runtime_error {
  Mistake(std::size_t where, const std::string& what) : std::runtime_error(what), position(where) {}
  std::size_t position;
};

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }

/// The first character of the word or number that ends before `end`; a number may hold digit separators: 1'000.
std::size_t start_of_word(const std::string& code, std::size_t end) {
  std::size_t i = end;
  while (i > 0 && (in_word(code[i - 1]) || (code[i - 1] == '\'' && i > 1 && in_word(code[i - 2])))) --i;
  return i;
}

bool begins_raw_string(const std::string& code, std::size_t quote) {
  const std::string prefix = code.substr(start_of_word(code, quote), quote - start_of_word(code, quote));
  return prefix == "R" || prefix == "LR" || prefix == "uR" || prefix == "UR" || prefix == "u8R";
}

/// The end of the comment or literal that begins at i; i itself if none does.
std::size_t end_of_text(const std::string& code, std::size_t i) {
  const auto until = [&](const std::string& mark, std::size_t from) {
    const std::size_t end = code.find(mark, from);
    return end == none ? code.size() : end + mark.size();
  };
  if (code.compare(i, 2, "//") == 0) {
    std::size_t end = code.find('\n', i);
    while (end != none && code[end - 1] == '\\') end = code.find('\n', end + 1);  // a continued line
    return end == none ? code.size() : end;
  }
  if (code.compare(i, 2, "/*") == 0) return until("*/", i + 2);
  if (code[i] == '"' && begins_raw_string(code, i)) {
    const std::size_t open = code.find('(', i);
    if (open == none) throw Mistake(i, "raw string without (");
    return until(")" + code.substr(i + 1, open - i - 1) + "\"", open);
  }
  const bool digit_separator =
      code[i] == '\'' && std::isdigit(static_cast<unsigned char>(code[start_of_word(code, i)]));
  if (code[i] != '"' && (code[i] != '\'' || digit_separator)) return i;
  for (std::size_t end = i + 1; end < code.size(); ++end) {
    if (code[end] == '\n') return end;  // no literal: perhaps the apostrophe of a text that is not compiled
    if (code[end] == '\\')
      ++end;
    else if (code[end] == code[i])
      return end + 1;
  }
  return code.size();
}

/// The code with comments and literals blanked: as long as the code, with the same line breaks.
std::string blank_texts(const std::string& code) {
  std::string bare = code;
  for (std::size_t i = 0; i < code.size();) {
    const std::size_t end = end_of_text(code, i);
    if (end == i) ++i;
    for (; i < end; ++i)
      if (code[i] != '\n') bare[i] = ' ';
  }
  return bare;
}

/// Where the bracket at `close` was opened. Inside of other brackets, < and > are comparisons.
std::size_t opening(const std::string& bare, std::size_t close) {
  const std::string all_right = ")]}>", all_left = "([{<";
  const char right = bare[close], left = all_left[all_right.find(right)];
  for (std::size_t i = close; i-- > 0;) {
    if (bare[i] == left) return i;
    if (all_right.find(bare[i]) != none && (bare[i] != '>' || right == '>')) i = opening(bare, i);
  }
  throw Mistake(close, "bracket without its partner");
}

/// The first character of the kernel's name, given the position behind it: `a::b<T>`, `table[i]`, `(pointer)`, `x.f`.
std::size_t start_of_kernel(const std::string& bare, std::size_t end) {
  std::size_t i = end;
  const auto skip_spaces = [&] {
    while (i > 0 && is_space(bare[i - 1])) --i;
  };
  skip_spaces();
  const std::size_t name_end = i;
  for (bool more = true; more;) {
    while (i > 0 && (bare[i - 1] == '>' || bare[i - 1] == ']' || bare[i - 1] == ')')) {
      i = opening(bare, i - 1);
      if (bare[i] == '<') skip_spaces();
    }
    while (i > 0 && (in_word(bare[i - 1]) || bare[i - 1] == ':')) --i;
    const std::size_t length = i > 0 && bare[i - 1] == '.' ? 1 : i > 1 && bare.compare(i - 2, 2, "->") == 0 ? 2 : 0;
    i -= length;
    more = length > 0;  // the name is a member's
  }
  if (i == name_end) throw Mistake(end, "launch without a kernel");
  return i;
}

/// The >>> that ends the launch configuration which begins at i.
std::size_t end_of_configuration(const std::string& bare, std::size_t i) {
  int depth = 0;
  for (std::size_t k = i; k < bare.size(); ++k) {
    if (bare[k] == '(' || bare[k] == '{' || bare[k] == '[') ++depth;
    if (bare[k] == ')' || bare[k] == '}' || bare[k] == ']') --depth;
    if (depth == 0 && bare.compare(k, 3, ">>>") == 0) return k;
    if (bare[k] == ';') break;
  }
  throw Mistake(i, "<<< without >>>");
}

void replace(std::string& code, std::string& bare, std::size_t at, std::size_t length, const std::string& text) {
  code.erase(at, length).insert(at, text);
  bare.erase(at, length).insert(at, text);
}

void rewrite_launches(std::string& code, std::string& bare) {
  for (std::size_t open = bare.find("<<<"); open != none; open = bare.find("<<<", open)) {
    const std::size_t kernel = start_of_kernel(bare, open), close = end_of_configuration(bare, open + 3);
    replace(code, bare, close, 3, ")");
    replace(code, bare, open, 3, "), ");
    replace(code, bare, kernel, 0, "CUDA_ON_CPU_LAUNCH((");
  }
}

/// Whether the position lies in a function: some brace around it does not belong to a namespace.
bool in_function(const std::string& bare, std::size_t position) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < position; ++i) {
    if (bare[i] == '{') open.push_back(i);
    if (bare[i] == '}' && !open.empty()) open.pop_back();
  }
  static const std::regex name_space(R"((namespace(\s+[\w:]+)*|extern)\s*$)");
  for (const std::size_t brace : open) {
    const std::size_t from = bare.find_last_of(";{}", brace == 0 ? 0 : brace - 1);
    const std::string before = bare.substr(from == none ? 0 : from + 1, brace - (from == none ? 0 : from + 1));
    if (!std::regex_search(before, name_space)) return true;
  }
  return false;
}

void rewrite_dynamic_shared(std::string& code, std::string& bare) {
  static const std::regex begin(R"(\bextern\s+__shared__\b)");
  static const std::regex alignment(R"((__align__|alignas)\s*\(([^()]|\([^()]*\))*\)\s*)");
  static const std::regex type_and_name(R"(\s*((?:[\w:][^;()\[\]]*?)?[\w>])\s*\b(\w+)\s*\[\s*\]\s*)");
  for (std::smatch found; std::regex_search(bare, found, begin);) {
    const auto at = static_cast<std::size_t>(found.position());
    if (!in_function(bare, at)) throw Mistake(at, "declare dynamic shared memory inside the kernel that uses it");
    const std::size_t end = std::min(bare.find(';', at), bare.size());
    const std::string declaration = bare.substr(at, end - at), after = declaration.substr(found.str().size());
    std::smatch parts;
    const std::string unaligned = std::regex_replace(after, alignment, "");  // it is aligned to 128 bytes anyway
    if (end == bare.size() || !std::regex_match(unaligned, parts, type_and_name))
      throw Mistake(at, "extern __shared__ is understood as `extern __shared__ type name[];`");
    std::string type = parts.str(1);
    std::replace(type.begin(), type.end(), '\n', ' ');
    const auto line_breaks = static_cast<std::size_t>(std::count(declaration.begin(), declaration.end(), '\n'));
    replace(code, bare, at, declaration.size(),
            std::string(line_breaks, '\n') + type + "* " + parts.str(2) + " = ::cuda_on_cpu::dynamic_shared<" + type +
                ">()");
  }
}

/// The position behind the bracket that closes the one at `open`; none if there is no such bracket.
std::size_t behind_parentheses(const std::string& bare, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < bare.size(); ++i) {
    if (bare[i] == '(') ++depth;
    if (bare[i] == ')' && --depth == 0) return i + 1;
  }
  return none;
}

/// Lets a kernel with launch bounds begin with the question whether its block keeps them. Declarations, and macros that
/// hold the word, stay as they are.
void rewrite_launch_bounds(std::string& code, std::string& bare) {
  const std::string word = "__launch_bounds__";
  for (std::size_t at = bare.find(word); at != none; at = bare.find(word, at + 1)) {
    const std::size_t line = bare.rfind('\n', at) + 1;  // none + 1 is 0
    const std::size_t bounds = bare.find_first_not_of(" \t\n", at + word.size());
    if (bare.find_first_not_of(" \t", line) == bare.find('#', line) || bounds == none || bare[bounds] != '(') continue;
    const std::size_t end = behind_parentheses(bare, bounds);
    const std::size_t parameters = end == none ? none : bare.find_first_of("(;{}", end);
    if (parameters == none || bare[parameters] != '(') continue;
    const std::size_t behind = behind_parentheses(bare, parameters);
    const std::size_t body = behind == none ? none : bare.find_first_not_of(" \t\n", behind);
    if (body == none || bare[body] != '{') continue;
    std::string most = bare.substr(bounds, end - bounds);
    std::replace(most.begin(), most.end(), '\n', ' ');
    replace(code, bare, body + 1, 0, " if (::cuda_on_cpu::refuses_block" + most + ") return;");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: rewrite_launches input output\n";
    return 2;
  }
  std::ifstream input(argv[1]);
  std::string code{std::istreambuf_iterator<char>(input), {}};
  if (!input) {
    std::cerr << argv[1] << ": cannot be read\n";
    return 2;
  }
  std::string bare;
  try {
    bare = blank_texts(code);
    rewrite_launches(code, bare);
    rewrite_dynamic_shared(code, bare);
    rewrite_launch_bounds(code, bare);
  } catch (const Mistake& mistake) {
    const auto line = 1 + std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(mistake.position), '\n');
    std::cerr << argv[1] << ":" << line << ": " << mistake.what() << "\n";
    return 1;
  }
  std::error_code ignored;  // what could not be made cannot be written to, below
  std::filesystem::create_directories(std::filesystem::absolute(argv[2]).parent_path(), ignored);
  std::ofstream output(argv[2]);
  // nvcc includes the CUDA runtime by itself, so this does too
  if (std::string(argv[1]).ends_with(".cu")) output << "#include <cuda_runtime.h>\n";
  output << "#line 1 \"" << argv[1] << "\"\n" << code;
  if (!output.flush()) {
    std::cerr << argv[2] << ": cannot be written\n";
    return 2;
  }
}
