#include "spin_glass/engine/launch.hpp"

#include <cstdio>

namespace psflip::spin_glass {

const std::vector<LaunchField>& launch_fields(const Launch&) {
  constexpr bool automatic = true;
  static const std::vector<LaunchField> fields = {
      launch_field("indexing", &Launch::indexing, "How threads find sites"),
      launch_field("load", &Launch::load, "How kernels read"),
      launch_field("threads", &Launch::threads, "Threads of a block"),
      launch_field("sites_per_thread", &Launch::sites_per_thread, "Sites that a thread updates"),
      launch_field("kernel", &Launch::kernel, "Which of a stage's kernels", 0, automatic),
      launch_field("samples_per_word", &Launch::samples_per_word, "Samples that are bits of one word"),
      launch_field("cluster", &Launch::cluster, "Thread blocks that have a system together"),
      launch_field("replicas_together", &Launch::replicas_together, "Replicas that one cluster updates"),
      launch_field("transport", &Launch::transport, "How boundary planes get to other ranks of MPI", 0, automatic),
  };
  return fields;
}

std::string words_of(const Tried& tried) {
  if (tried.launches == 0) return {};
  char when[32] = "by an earlier run";
  if (!tried.earlier) std::snprintf(when, sizeof when, "(%.2g s)", tried.seconds);
  return ": the fastest of " + std::to_string(tried.launches) + " that were tried " + when;
}

}  // namespace psflip::spin_glass
