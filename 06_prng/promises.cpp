// What the shared test asserts of this stage.
#include <algorithm>
#include <bit>

#include "spin_glass/test/engine_test.hpp"

namespace psflip::spin_glass {

bool promises(const Problem& problem, const Launch& launch, const std::string&) {
  const int s = launch.sites_per_thread.value_or(1);
  const bool power_of_two = std::has_single_bit(static_cast<std::uint64_t>(problem.size));
  const bool whole_words = (s == 1 || s == 2 || s == 4 || s == 8) && problem.size % s == 0;
  const bool sliced = !launch.indexing || launch.indexing == Indexing::sliced;
  if (problem.generator == Generator::philox_planes)
    return chooses_only(launch, {"indexing", "sites_per_thread"}) && s == 1 && sliced;
  const bool bytes = launch.indexing == Indexing::standard || (launch.indexing == Indexing::bitwise && power_of_two);
  return chooses_only(launch, {"indexing", "sites_per_thread"}) && ((whole_words && sliced) || (s == 1 && bytes));
}
bool promises(Generator generator, const std::string& platform) {
  if (std::ranges::count(generators, generator)) return true;
  return std::ranges::count(curand_generators, generator) && built_with("curand") && platform == "gpu";
}
bool up_to_the_machine(const Launch&, const std::string&) { return false; }
int most_threads() { return 256; }
Launch moving_launch() { return {}; }
double bytes_per_spin() { return 1; }
bool observes_on_the_device() { return false; }
std::vector<Refusal> refusals() { return {}; }

}  // namespace psflip::spin_glass
