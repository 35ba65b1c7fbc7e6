#include "spin_glass/engine/offer.hpp"

#include <bit>

#include "app/invalid_input.hpp"

namespace psflip::spin_glass {

void refuse_choice(const char* option, const std::string& value, const std::vector<std::string>& offered) {
  std::string message = std::string(option) + " is " + value + ": ";
  if (offered.empty()) throw InvalidInput(message + "this stage has no choice of it; leave it out");
  message += "for this problem the stage has ";
  for (std::size_t i = 0; i < offered.size(); ++i) message += (i ? ", " : "") + offered[i];
  throw InvalidInput(message);
}

Launch complete(const Problem& problem, Launch launch, const Offer& offer) {
  check(problem);
  choose<Generator>("--generator", problem.generator, offer.generators);
  launch.indexing = choose("--indexing", launch.indexing, offer.indexings);
  launch.load = choose("--load", launch.load, offer.loads);
  if (launch.indexing == Indexing::bitwise && !std::has_single_bit(static_cast<unsigned>(problem.size)))
    throw InvalidInput("--indexing is bitwise: it takes a power of two for --size, not " +
                       std::to_string(problem.size));
  launch.kernel = choose("--kernel", launch.kernel, offer.kernels);
  launch.samples_per_word = choose("--samples-per-word", launch.samples_per_word, offer.samples_per_word);
  launch.cluster = choose("--cluster", launch.cluster, offer.clusters);
  launch.replicas_together = choose("--replicas-together", launch.replicas_together, offer.replicas_together);
  launch.transport = choose("--transport", launch.transport, offer.transports);
  launch.sites_per_thread = choose("--sites-per-thread", launch.sites_per_thread, offer.sites_per_thread);
  launch.threads = launch.threads.value_or(offer.threads);
  if (*launch.threads < 1 || *launch.threads > offer.most_threads)
    throw InvalidInput("--threads is " + std::to_string(*launch.threads) + ": allowed are 1 to " +
                       std::to_string(offer.most_threads));
  return launch;
}

}  // namespace psflip::spin_glass
