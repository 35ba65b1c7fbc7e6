#include "app/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>

#include "app/interruption.hpp"
#include "app/invalid_input.hpp"

namespace psflip {
namespace {

int fail(const CLI::App& app, std::string message, int exit_code) {
  // Some of CLI11's and the libraries' messages span lines.
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), message.c_str());
  return exit_code;
}

void flush_standard_output() {
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0) {
    throw std::runtime_error(std::string("cannot write to standard output: ") + std::strerror(errno));
  }
}

}  // namespace

int run_program(CLI::App& app, int argc, const char* const* argv, const std::function<void()>& work) noexcept {
  try {
    try {
      app.parse(argc, argv);
      work();
    } catch (const CLI::CallForHelp&) {
      std::cout << app.help();
    }
    flush_standard_output();
    return 0;
  } catch (const CLI::ParseError& error) {
    return fail(app, std::string(error.what()) + "; --help lists the options", 2);
  } catch (const InvalidInput& error) {
    return fail(app, error.what(), 2);
  } catch (const Interrupted& error) {
    return fail(app, error.what(), 128 + error.signal());
  } catch (const std::bad_alloc&) {
    return fail(app, "out of memory", 1);
  } catch (const std::exception& error) {
    return fail(app, error.what(), 1);
  }
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  std::string allowed = "a whole number >= " + std::to_string(least);
  if (most != std::numeric_limits<std::int64_t>::max()) {
    allowed = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  }
  const auto check = [=](const std::string& text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const bool decimal = error == std::errc() && stop == end && text == std::to_string(number);  // 010 is not
    const bool fine = decimal && number >= least && number <= most;
    return fine ? std::string() : text + " is not " + allowed;
  };
  return {check, ""};
}

}  // namespace psflip
