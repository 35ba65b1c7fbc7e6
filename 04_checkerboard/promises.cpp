// What the shared test asserts of this stage.
#include <bit>

#include "spin_glass/test/engine_test.hpp"

namespace psflip::spin_glass {

bool promises(const Problem& problem, const Launch& launch, const std::string&) {
  const bool power_of_two = std::has_single_bit(static_cast<std::uint64_t>(problem.size));
  return chooses_only(launch, {"indexing"}) && (!launch.indexing || launch.indexing == Indexing::standard ||
                                                (launch.indexing == Indexing::bitwise && power_of_two));
}
bool promises(Generator generator, const std::string&) { return generator == Generator::minstd; }
bool up_to_the_machine(const Launch&, const std::string&) { return false; }
int most_threads() { return 1024; }
Launch moving_launch() { return {}; }
double bytes_per_spin() { return 1; }
bool observes_on_the_device() { return false; }

std::vector<Refusal> refusals() {
  return {{small_problem(6), {.indexing = Indexing::bitwise}, "a power of two for --size"}};
}

}  // namespace psflip::spin_glass
