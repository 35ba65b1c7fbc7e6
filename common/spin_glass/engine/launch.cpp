#include "spin_glass/engine/launch.hpp"

namespace psflip::spin_glass {

std::string_view name(Indexing indexing) {
  constexpr std::string_view names[] = {"standard", "bitwise", "standard-grid", "sliced", "sliced-grid"};
  return names[static_cast<int>(indexing)];
}

std::string_view name(Load load) {
  constexpr std::string_view names[] = {"plain", "readonly", "texture"};
  return names[static_cast<int>(load)];
}

std::string_view name(Kernel kernel) {
  constexpr std::string_view names[] = {"update", "wide", "fused", "resident", "small"};
  return names[static_cast<int>(kernel)];
}

std::string_view name(Transport transport) {
  constexpr std::string_view names[] = {"staged", "mpi", "nccl", "peer"};
  return names[static_cast<int>(transport)];
}

const std::vector<LaunchField>& launch_fields(const Launch&) {
  constexpr bool automatic = true;
  static const std::vector<LaunchField> fields = {
      launch_field("indexing", &Launch::indexing, "How threads find sites"),
      launch_field("load", &Launch::load, "How kernels read"),
      launch_field("threads", &Launch::threads, "Threads of a block"),
      launch_field("sites_per_thread", &Launch::sites_per_thread, "Sites that a thread updates"),
      launch_field("kernel", &Launch::kernel, "Which of a stage's kernels", automatic),
      launch_field("samples_per_word", &Launch::samples_per_word, "Samples that are bits of one word"),
      launch_field("cluster", &Launch::cluster, "Thread blocks that share their memory", 16),
      launch_field("replicas_together", &Launch::replicas_together, "Replicas that one cluster updates"),
      launch_field("transport", &Launch::transport, "How boundary planes get to other ranks of MPI", automatic),
  };
  return fields;
}

}  // namespace psflip::spin_glass
