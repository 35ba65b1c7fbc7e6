#include "app/interruption.hpp"

#include <array>
#include <csignal>
#include <cstddef>

namespace psflip {
namespace {

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};

volatile std::sig_atomic_t noted = 0;
std::array<struct sigaction, signals.size()> before;  // what ends the program

void give_back(std::size_t i) { sigaction(signals[i], &before[i], nullptr); }

void note(int signal) {
  noted = signal;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (signals[i] == signal) give_back(i);
  }
}

}  // namespace

Interruption::Interruption() {
  noted = 0;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (sigaction(signals[i], nullptr, &before[i]) == 0 && before[i].sa_handler != SIG_IGN) {
      struct sigaction action {};
      action.sa_handler = note;
      action.sa_flags = SA_RESTART;  // no call is cut short
      sigaction(signals[i], &action, nullptr);
    }
  }
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < signals.size(); ++i) give_back(i);
}

int Interruption::signal() const { return noted; }

}  // namespace psflip
