#pragma once

#include <stdexcept>
#include <string>

namespace psflip {

/// What the user asked for cannot be done. The message is one line: what, which value, what is allowed.
/// Programs print it and exit with code 2, having written nothing.
class InvalidInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace psflip
