/// How a program ends in the middle of its work: by a signal, or by an exception that nobody can catch, of a thread or
/// a destructor. It says so in one line and removes what it had begun to write.
#pragma once

#include <csignal>
#include <string>

namespace psflip {

/// To be called before a program opens anything; `program` is the name with which its errors begin.
/// - Signals that end it (SIGINT, SIGTERM, SIGHUP, SIGUSR1, ...) still do, unless they were ignored before.
/// - An exception without a handler ends it with exit code 1, even one before main().
/// - What is written beyond a limit of the file size is an error, as on a full disk, and no signal.
void prepare_for_abrupt_end(const std::string& program);

/// Removes what is unfinished now. May be called in a signal handler. Meant for ends that run no destructors.
void remove_unfinished() noexcept;

/// A file that is removed if the program ends abruptly while the object lives. If it has become another file by then,
/// nothing is done. The object's end alone removes nothing.
class Unfinished {
 public:
  /// The file at `path` is the one that `descriptor` has open.
  Unfinished(const std::string& path, int descriptor);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

 private:
  struct Entry* entry_;
};

/// Signals to this thread wait as long as the object lives: between the making of a file and that of its Unfinished,
/// say.
class SignalsWait {
 public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

}  // namespace psflip
