#include "app/abrupt_end.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>

namespace psflip {

/// Signal handlers go through the entries, so none is ever freed: it serves the next file of that name.
struct Entry {
  const std::string path;
  std::atomic<bool> unfinished = false;
  dev_t device = 0;
  ino_t inode = 0;
  Entry* next = nullptr;
};

namespace {

std::atomic<Entry*> entries = nullptr;
char program_name[64] = "psFlip";
bool prepared = false;

/// One line, without taking memory or locks: a signal may have come anywhere.
void say(const char* what, int number = 0) {
  char line[512];
  std::size_t length = 0;
  const auto add = [&](const char* text) {
    for (; *text != '\0' && length + 1 < sizeof line; ++text) line[length++] = *text == '\n' ? ' ' : *text;
  };
  add(program_name);
  add(": ");
  add(what);
  const char digits[] = {static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10), '\0'};
  if (number > 0) add(number < 10 ? digits + 1 : digits);
  line[length++] = '\n';
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, length);
}

void end_by(int signal) {
  if (signal != SIGPIPE) say("ended by signal ", signal);  // who closes a pipe knows
  remove_unfinished();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

/// Other threads may come here while the first speaks. An exception that finds no memory for itself ends the program,
/// too, and then there is none; nor is any taken here.
[[noreturn]] void end_by_exception() noexcept {
  static std::atomic_flag taken;
  while (taken.test_and_set()) pause();
  try {
    if (std::current_exception()) throw;
    say(prepared ? "ended by an error without a description" : "out of memory");
  } catch (const std::bad_alloc&) {
    say("out of memory");
  } catch (const std::exception& error) {
    say(error.what());
  } catch (...) {
    say("ended by an error without a description");
  }
  remove_unfinished();
  _exit(1);
}

/// Libraries construct objects before main(), for which there may be no memory.
[[gnu::constructor(101)]] void prepare_for_an_end_before_main() {
  std::snprintf(program_name, sizeof program_name, "%s", program_invocation_short_name);
  std::set_terminate(end_by_exception);
}

}  // namespace

void prepare_for_abrupt_end(const std::string& program) {
  prepared = true;
  std::snprintf(program_name, sizeof program_name, "%s", program.c_str());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU, SIGPIPE}) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) std::signal(signal, end_by);
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

void remove_unfinished() noexcept {
  for (const Entry* entry = entries; entry != nullptr; entry = entry->next) {
    struct stat found {};
    if (entry->unfinished && stat(entry->path.c_str(), &found) == 0 && found.st_dev == entry->device &&
        found.st_ino == entry->inode) {
      unlink(entry->path.c_str());
    }
  }
}

Unfinished::Unfinished(const std::string& path, int descriptor) {
  entry_ = entries;
  while (entry_ != nullptr && (entry_->unfinished || entry_->path != path)) entry_ = entry_->next;
  const bool is_new = entry_ == nullptr;
  if (is_new) entry_ = new Entry{path};
  struct stat found {};
  fstat(descriptor, &found);
  entry_->device = found.st_dev;
  entry_->inode = found.st_ino;
  entry_->unfinished = true;
  if (is_new) {
    entry_->next = entries;
    entries = entry_;
  }
}

Unfinished::~Unfinished() { entry_->unfinished = false; }

SignalsWait::SignalsWait() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsWait::~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace psflip
