#include "app/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <stdexcept>
#include <streambuf>
#include <utility>

#include "app/abrupt_end.hpp"
#include "app/files/output_file.hpp"
#include "app/interruption.hpp"
#include "app/invalid_input.hpp"

namespace psflip {
namespace {

int fail(const std::string& program, std::string message, int exit_code) {
  message = replaced(message, '\n', ' ');  // some of the libraries' messages span lines
  std::fprintf(stderr, "%s: %s\n", program.c_str(), message.c_str());
  return exit_code;
}

/// "8,16" is two values, and "8," is, too: the second is empty.
std::vector<std::string> parts(const std::string& text, char delimiter) {
  std::vector<std::string> result(1);
  for (const char c : text) {
    if (c == delimiter && delimiter != '\0')
      result.emplace_back();
    else
      result.back() += c;
  }
  return result;
}

/// std::cout, keeping the reason why something could not be written: with the next call of the system errno is another.
class StandardOutput : public std::streambuf {
 public:
  StandardOutput() : before_(std::cout.rdbuf(this)) { std::cout.clear(); }
  ~StandardOutput() override { std::cout.rdbuf(before_); }
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

  /// Throws if anything could not be written.
  void end() {
    sync();
    if (error_ != 0) throw std::runtime_error(std::string("cannot write to standard output: ") + std::strerror(error_));
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    return kept(std::fwrite(text, 1, static_cast<std::size_t>(count), stdout) == static_cast<std::size_t>(count))
               ? count
               : 0;
  }
  int overflow(int character) override { return kept(std::putchar(character) != EOF) ? character : EOF; }
  int sync() override { return kept(std::fflush(stdout) == 0) ? 0 : -1; }

 private:
  bool kept(bool fine) {
    if (!fine && error_ == 0) error_ = errno;
    return fine;
  }

  std::streambuf* before_;
  int error_ = 0;
};

}  // namespace

Check whole_number(std::int64_t least, std::int64_t most) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::string allowed = "a whole number";
  if (most != Limits::max())
    allowed += " from " + std::to_string(least) + " to " + std::to_string(most);
  else if (least != Limits::min())
    allowed += " >= " + std::to_string(least);
  return [=](const std::string& text) {
    const auto number = number_in<std::int64_t>(text);
    return number && *number >= least && *number <= most ? std::string() : text + " is not " + allowed;
  };
}

Check number(double least) {
  return [=](const std::string& text) {
    const auto number = number_in<double>(text);
    if (!number) return text + " is not a finite decimal number";
    return *number >= least ? std::string() : text + " is less than " + CLI::detail::to_string(least);
  };
}

Check one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) {
    return std::ranges::count(words, text) ? std::string() : text + " not in {" + CLI::detail::join(words) + "}";
  };
}

using Option = CommandLine::Option;

Option& Option::check(Check check) {
  reading_->check = [first = std::move(check), then = reading_->check](const std::string& text) {
    const std::string wrong = first(text);
    return wrong.empty() ? then(text) : wrong;
  };
  return *this;
}
Option& Option::type(const std::string& name) {
  option_->type_name(name);
  return *this;
}
Option& Option::delimiter(char between) {
  reading_->delimiter = between;
  return *this;
}
Option& Option::excludes(const std::string& other) {
  option_->excludes(app_->get_option(other));
  return *this;
}
Option& Option::needs(const std::string& other) {
  option_->needs(app_->get_option(other));
  return *this;
}
Option& Option::required() {
  option_->required();
  return *this;
}

CommandLine::CommandLine(const std::string& description, const std::string& program)
    : app_(std::make_unique<CLI::App>(description, program)) {}
CommandLine::~CommandLine() = default;

Option CommandLine::add(const std::string& name, const std::string& help, bool many,
                        const std::function<void(const std::vector<std::string>&)>& take) {
  const auto reading = std::make_shared<Option::Reading>();
  reading->check = [](const std::string&) { return std::string(); };
  const auto take_all = [take, reading](const std::vector<std::string>& texts) {
    std::vector<std::string> values;
    for (const std::string& text : texts)
      for (std::string& value : parts(text, reading->delimiter)) values.push_back(std::move(value));
    take(values);
  };
  const auto check_all = [reading](const std::string& text) {
    for (const std::string& value : parts(text, reading->delimiter))
      if (std::string wrong = reading->check(value); !wrong.empty()) return wrong;
    return std::string();
  };
  constexpr int most = 1 << 24;  // more, and CLI11 would want the extra arguments with which [1] is 1
  return Option(app_.get(),
                app_->add_option_function<std::vector<std::string>>(name, take_all, help)
                    ->expected(1, many ? most : 1)
                    ->allow_extra_args(false)
                    ->check(CLI::Validator(check_all, "")),
                reading);
}
Option CommandLine::callback(const std::string& name, std::function<void(const std::string&)> take,
                             const std::string& help) {
  return add(name, help, false,
             [take = std::move(take)](const std::vector<std::string>& texts) { take(texts.front()); });
}
Option CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  return Option(app_.get(), app_->add_flag(name, value, help), nullptr);
}

void CommandLine::footer(const std::string& text) { app_->footer(text); }
void CommandLine::allow_extras() { app_->allow_extras(); }
std::vector<std::string> CommandLine::remaining() const { return app_->remaining(); }
std::string CommandLine::program() const { return app_->get_name(); }

bool CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    return false;
  } catch (const CLI::CallForHelp&) {
    std::cout << app_->help();
    return true;
  } catch (const CLI::ParseError& error) {
    throw InvalidInput(std::string(error.what()) + "; --help lists the options");
  }
}

int run_program(CommandLine& line, int argc, const char* const* argv, const std::function<void()>& work) noexcept {
  occupy_closed_streams();
  prepare_for_abrupt_end(line.program());
  StandardOutput output;
  try {
    if (!line.parse(argc, argv)) work();
    output.end();
    return 0;
  } catch (const InvalidInput& error) {
    return fail(line.program(), error.what(), 2);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(line.program(), error.path1().string() + ": " + error.code().message(), 2);
  } catch (const Interrupted& error) {
    return fail(line.program(), error.what(), 128 + error.signal());
  } catch (const std::bad_alloc&) {
    return fail(line.program(), "out of memory", 1);
  } catch (const std::exception& error) {
    return fail(line.program(), error.what(), 1);
  }
}

}  // namespace psflip
