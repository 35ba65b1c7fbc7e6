// The program <stage>_majority_far: a step of a lattice whose last spins have numbers that no int holds. It is run
// under UBSan, which tells of an index that overflows, and with PSFLIP_CPU_BLOCKS=ends: so it takes no time, and of its
// memory a few pages.
#include <cstdio>
#include <exception>

#include "majority/platforms.hpp"

int main() {
  using namespace psflip::majority;
  constexpr int size = 46'341;  // the smallest: its square is more than 2^31
  for (const Platform& platform : platforms()) {
    try {
      platform.make(size, {.storage = Storage::int8})->advance(1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "far: %s\n", error.what());
      return 1;
    }
  }
}
