// Stage 00, 2D majority: the rule, as it would be told to someone.
//
// Two arrays: one holds the state now, the other receives the next. For every site, add up the spin itself and its four
// neighbours and take the sign. The modulo closes the lattice at its edges. Nothing here is fast; everything here is
// plainly right, and so it is what every later stage is compared with, bit for bit.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "app/invalid_input.hpp"
#include "majority/simulation.hpp"

namespace psflip::reference {
namespace {

using majority::Lattice;
using majority::Launch;
using majority::Spin;
using majority::Storage;

/// One step, from `now` to `next`, both n x n and row-major.
template <class T>
void update(const std::vector<T>& now, std::vector<T>& next, int n) {
  const auto site = [n](int x, int y) { return static_cast<std::size_t>(y) * n + x; };
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      const int sum = now[site(x, y)]                                               // itself
                      + now[site((x + 1) % n, y)] + now[site((x - 1 + n) % n, y)]   // right and left
                      + now[site(x, (y + 1) % n)] + now[site(x, (y - 1 + n) % n)];  // below and above
      next[site(x, y)] = sum > 0 ? 1 : -1;
    }
  }
}

/// T holds one spin: std::int32_t or std::int8_t.
template <class T>
class Majority : public majority::Simulation {
 public:
  explicit Majority(std::int64_t size) : size_(size), now_(size * size), next_(size * size) {}

  void set_spins(const Lattice& lattice) override { now_.assign(lattice.spins.begin(), lattice.spins.end()); }

  Lattice spins() const override { return {size_, std::vector<Spin>(now_.begin(), now_.end())}; }

  double advance(std::int64_t steps) override {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t step = 0; step < steps; ++step) {
      update(now_, next_, static_cast<int>(size_));
      std::swap(now_, next_);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  Launch launch() const override {
    return {.storage = std::is_same_v<T, std::int8_t> ? Storage::int8 : Storage::int32};
  }

 private:
  std::int64_t size_;
  std::vector<T> now_;
  std::vector<T> next_;
};

void refuse(const std::string& option, const std::optional<int>& value) {
  if (value) {
    throw InvalidInput(option + " " + std::to_string(*value) +
                       ": stage 00 is a plain loop without threads; leave it out");
  }
}

}  // namespace

std::unique_ptr<majority::Simulation> make_simulation(std::int64_t size, const Launch& launch) {
  refuse("--thread-width", launch.thread_width);
  refuse("--block", launch.block);
  refuse("--steps-per-pass", launch.steps_per_pass);
  if (launch.storage == Storage::bit) {
    throw InvalidInput("--storage bit: stage 00 has int32 and int8");
  }
  if (launch.storage == Storage::int8) {
    return std::make_unique<Majority<std::int8_t>>(size);
  }
  return std::make_unique<Majority<std::int32_t>>(size);
}

}  // namespace psflip::reference
