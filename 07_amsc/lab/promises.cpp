// What the shared test asserts of this stage as an assignment has it.
#include <algorithm>

#include "spin_glass/test/engine_test.hpp"

namespace psflip::spin_glass {

bool promises(const Problem&, const Launch& launch, const std::string&) {
  return chooses_only(launch, {"kernel", "samples_per_word"}) &&
         launch.kernel.value_or(Kernel::update) == Kernel::update && launch.samples_per_word.value_or(32) == 32;
}
bool promises(Generator generator, const std::string&) { return std::ranges::count(stream_generators, generator) > 0; }
bool up_to_the_machine(const Launch&, const std::string&) { return false; }
int most_threads() { return 512; }
Launch moving_launch() { return {.kernel = Kernel::update}; }
double bytes_per_spin() { return 1.0 / 8; }
bool observes_on_the_device() { return true; }
std::vector<Refusal> refusals() { return {}; }

}  // namespace psflip::spin_glass
