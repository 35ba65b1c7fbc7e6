/// How a program that was asked to end finishes what it is at first.
#pragma once

#include <stdexcept>
#include <string>

namespace psflip {

/// From its making on, SIGINT (Ctrl-C), SIGTERM, SIGHUP and SIGUSR1 (which mpirun passes on, and batch systems send)
/// are noted instead of ending the program; the second of a kind ends it as ever. A signal that was ignored before
/// (nohup) stays ignored. One object at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The number of the signal that came last; 0 if none did.
  int signal() const;
};

/// Thrown by a program's work that ended early because of a signal. The message is one line.
class Interrupted : public std::runtime_error {
 public:
  Interrupted(const std::string& message, int signal) : std::runtime_error(message), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

}  // namespace psflip
