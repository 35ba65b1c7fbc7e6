#include "app/interruption.hpp"

#include <csignal>

namespace psflip {
namespace {

volatile std::sig_atomic_t noted = 0;

constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

void note(int signal) { noted = signal; }

}  // namespace

Interruption::Interruption() {
  noted = 0;
  for (const int signal : signals) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      struct sigaction action {};
      action.sa_handler = note;
      action.sa_flags = SA_RESTART | SA_RESETHAND;  // no call is cut short; the next signal finds the default again
      sigaction(signal, &action, nullptr);
    }
  }
}

Interruption::~Interruption() {
  for (const int signal : signals) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == note) {
      std::signal(signal, SIG_DFL);
    }
  }
}

int Interruption::signal() const { return noted; }

}  // namespace psflip
