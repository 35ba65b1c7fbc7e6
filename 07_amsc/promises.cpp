// What the shared test asserts of this stage.
#include <algorithm>

#include "spin_glass/test/engine_test.hpp"

namespace psflip::spin_glass {

/// What is left out, the stage chooses among what is possible. Sizes to 10 fit into the shared memory of any device.
bool promises(const Problem& problem, const Launch& launch, const std::string&) {
  if (!chooses_only(launch, {"kernel", "samples_per_word", "cluster", "replicas_together"})) return false;
  const auto is = [](const auto& field, auto value) { return !field.has_value() || *field == value; };
  const std::int64_t size = problem.size, replicas = problem.replicas;
  if (problem.generator == Generator::philox_planes) {
    const std::int64_t together = launch.replicas_together.value_or(1);
    if (launch.samples_per_word || (together != 1 && together != 2 && together != 4) || replicas % together != 0)
      return false;
    if (is(launch.kernel, Kernel::synchronous) && !launch.cluster) return true;
    // A tile has two rows of all that there are, or more, and a half-plane; sizes to 10 fit into one, too.
    const int cluster = launch.cluster.value_or(1);
    int rows = 1, planes = 1;
    while (rows * planes < cluster) (rows > planes ? planes : rows) *= 2;
    return is(launch.kernel, Kernel::spread) && rows * planes == cluster && (rows == 1 || size / rows >= 2) &&
           size / 2 / planes >= 1;
  }
  const std::int64_t in_clusters = problem.generator == Generator::philox && replicas % 4 == 0 ? 4 : replicas;
  for (const Kernel kernel : kernels) {
    if (kernel == Kernel::synchronous || kernel == Kernel::spread) continue;
    if (kernel == Kernel::overlapped) {
      const auto possible = [&](std::int64_t k) {
        return is(launch.samples_per_word, k) && (k == 32 || problem.samples_per_stream % k == 0) &&
               replicas % (128 / k) == 0;
      };
      if (is(launch.kernel, kernel) && !launch.cluster && !launch.replicas_together &&
          problem.generator == Generator::philox && (possible(32) || possible(64) || possible(128)))
        return true;
      continue;
    }
    const bool clusters = kernel != Kernel::update && kernel != Kernel::wide;
    if (!is(launch.kernel, kernel) || (clusters && in_clusters != 1 && in_clusters != 2 && in_clusters != 4)) {
      continue;
    }
    for (const int k : {32, 64, 128}) {
      const bool has = k == 32 || kernel == Kernel::wide || kernel == Kernel::resident;
      if (!has || !is(launch.samples_per_word, k) || (k > 32 && problem.samples_per_stream % k != 0)) {
        continue;
      }
      if (!clusters) {
        if (!launch.cluster && !launch.replicas_together) {
          return true;
        }
        continue;
      }
      const auto together = launch.replicas_together.value_or(in_clusters);
      if (together < 1 || together > in_clusters || in_clusters % together != 0 ||
          (kernel == Kernel::resident && together != in_clusters)) {
        continue;
      }
      for (int cluster = 1; cluster <= 16; ++cluster) {
        const std::int64_t rows = (size - 1) / cluster + 1;  // of a block, and no block without
        const std::int64_t threads = size * rows * (kernel == Kernel::small ? size / 2 : 1);
        const bool fits = threads <= (k == 32 ? 1024 : 512);
        if (is(launch.cluster, cluster) && (cluster - 1) * rows < size && fits) {
          return true;
        }
      }
    }
  }
  return false;
}

bool promises(Generator generator, const std::string&) { return std::ranges::count(generators, generator) > 0; }
/// All blocks of `spread` have to be there at once.
bool up_to_the_machine(const Launch& launch, const std::string&) { return launch.kernel == Kernel::spread; }
int most_threads() { return 512; }
Launch moving_launch() { return {.kernel = Kernel::wide}; }  // others stay on the chip
double bytes_per_spin() { return 1.0 / 8; }
bool observes_on_the_device() { return true; }
std::vector<Refusal> refusals() { return {}; }

}  // namespace psflip::spin_glass
