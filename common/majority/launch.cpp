#include "majority/launch.hpp"

namespace psflip::majority {

const std::vector<LaunchField>& launch_fields(const Launch&) {
  static const std::vector<LaunchField> fields = {
      launch_field("storage", &Launch::storage, "How the device stores a spin"),
      launch_field("thread_width", &Launch::thread_width, "Threads along each side of a thread block", 32),
      launch_field("block", &Launch::block, "Spins along each side of what one thread computes"),
      launch_field("steps_per_pass", &Launch::steps_per_pass,
                   "Steps at most that are computed while the lattice is read and written once"),
  };
  return fields;
}

}  // namespace psflip::majority
