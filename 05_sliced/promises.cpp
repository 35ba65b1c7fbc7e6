// What the shared test asserts of this stage.
#include "spin_glass/test/engine_test.hpp"

namespace psflip::spin_glass {

bool promises(const Problem& problem, const Launch& launch, const std::string&) {
  const int s = launch.sites_per_thread.value_or(1);
  const bool whole_words = (s == 1 || s == 2 || s == 4 || s == 8) && problem.size % s == 0;
  const bool sliced =
      !launch.indexing || launch.indexing == Indexing::sliced || launch.indexing == Indexing::sliced_grid;
  return chooses_only(launch, {"indexing", "load", "sites_per_thread"}) &&
         ((launch.indexing == Indexing::standard_grid && s == 1) || (whole_words && sliced));
}
bool promises(Generator generator, const std::string&) { return generator == Generator::minstd; }
bool up_to_the_machine(const Launch&, const std::string&) { return false; }
int most_threads() { return 1024; }
Launch moving_launch() { return {}; }
double bytes_per_spin() { return 1; }
bool observes_on_the_device() { return false; }

std::vector<Refusal> refusals() {
  return {{small_problem(6), {.sites_per_thread = 4}, "--sites-per-thread is 4"},
          {small_problem(1026), {.indexing = Indexing::sliced_grid, .sites_per_thread = 1}, "at most 1024 threads"}};
}

}  // namespace psflip::spin_glass
