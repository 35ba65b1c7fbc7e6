/// How every program reads its options and how it ends: a thin layer over CLI11. Only command_line.cpp includes CLI11
/// itself, which takes longer to compile than most of our files.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/text.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace psflip {

/// Judges a value as it was typed: what is wrong with it, or "".
using Check = std::function<std::string(const std::string& text)>;

/// Accepts whole numbers (text.hpp) from `least` to `most`.
Check whole_number(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// Accepts finite decimal numbers from `least` on.
Check number(double least = std::numeric_limits<double>::lowest());
/// Accepts these words.
Check one_of(std::vector<std::string> words);

/// What CommandLine can read: text, numbers and names. A value that was not given stays as it is. A check has seen that
/// it is one.
inline void convert(const std::string& text, std::string& value) { value = text; }
template <class T>
void convert(const std::string& text, T& value) {
  if constexpr (Named<T>)
    value = called<T>(text).value();
  else
    value = number_in<T>(text).value();
}
template <class T>
void convert(const std::string& text, std::optional<T>& value) {
  convert(text, value.emplace());
}

class CommandLine {
 public:
  /// An option that was declared; further members restrict and describe it.
  class Option {
   public:
    /// Comes before what numbers are checked for anyway: that they fit.
    Option& check(Check check);
    /// How --help calls the value: "N", "FILE", "auto|cpu|gpu".
    Option& type(const std::string& name);
    /// Of a list: "8,16" are two values.
    Option& delimiter(char between);
    Option& excludes(const std::string& other);
    Option& needs(const std::string& other);
    Option& required();

   private:
    friend class CommandLine;
    /// How the values are told apart and judged.
    struct Reading {
      Check check;  ///< of every value
      char delimiter = '\0';
    };
    Option(CLI::App* app, CLI::Option* option, std::shared_ptr<Reading> reading)
        : app_(app), option_(option), reading_(std::move(reading)) {}
    CLI::App* app_;
    CLI::Option* option_;
    std::shared_ptr<Reading> reading_;
  };

  /// `program` is the name with which errors begin.
  CommandLine(const std::string& description, const std::string& program);
  ~CommandLine();

  /// An option with a value. Numbers are checked as whole_number() and number() do, over all that T can hold; a name
  /// has to be one of T's.
  template <class T>
  Option option(const std::string& name, T& value, const std::string& help) {
    const auto take = [&value](const std::vector<std::string>& texts) { convert(texts.front(), value); };
    return with_check<T>(add(name, help, false, take));
  }
  /// An option with any number of values.
  template <class T>
  Option option(const std::string& name, std::vector<T>& values, const std::string& help) {
    const auto take = [&values](const std::vector<std::string>& texts) {
      values.clear();
      for (const std::string& text : texts) convert(text, values.emplace_back());
    };
    return with_check<T>(add(name, help, true, take));
  }
  /// An option whose one value is handed over as it was typed.
  Option callback(const std::string& name, std::function<void(const std::string&)> take, const std::string& help);
  /// An option without a value.
  Option flag(const std::string& name, bool& value, const std::string& help);

  /// The end of --help.
  void footer(const std::string& text);
  /// Options that are not ours are no error; they remain.
  void allow_extras();
  std::vector<std::string> remaining() const;
  std::string program() const;

  /// Reads the options. True if --help was asked for, and printed. Throws InvalidInput.
  bool parse(int argc, const char* const* argv);

 private:
  Option add(const std::string& name, const std::string& help, bool many,
             const std::function<void(const std::vector<std::string>&)>& take);

  template <class T>
  struct Value {
    using type = T;
  };
  template <class T>
  struct Value<std::optional<T>> {
    using type = T;
  };
  template <class T>
  static Option with_check(Option option) {
    using Plain = typename Value<T>::type;
    using Limits = std::numeric_limits<Plain>;
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if constexpr (std::integral<Plain>)
      option.check(whole_number(Limits::min(), std::cmp_less(Limits::max(), most) ? Limits::max() : most)).type("INT");
    else if constexpr (std::floating_point<Plain>)
      option.check(number()).type("FLOAT");
    else if constexpr (Named<Plain>)
      option.check(one_of(names<Plain>()));
    return option;
  }

  std::unique_ptr<CLI::App> app_;
};

/// What is asked for, or once "whatever is chosen then".
template <class T>
std::vector<std::optional<T>> or_default(const std::vector<T>& wished) {
  if (wished.empty()) return {std::nullopt};
  return {wished.begin(), wished.end()};
}

/// Reads the command line and calls `work`. Returns the program's exit code:
///   0  done, or --help was asked for
///   1  failure on the way (a device, the memory)
///   2  what was asked for cannot be done: wrong options, or `work` threw InvalidInput
///   128 + n  signal number n ended it, and `work` threw Interrupted
/// A failure is exactly one line on stderr, "program: what is wrong". Lets no exception out.
int run_program(CommandLine& line, int argc, const char* const* argv, const std::function<void()>& work) noexcept;

}  // namespace psflip
