#include "spin_glass/engine/offer.hpp"

#include <algorithm>
#include <bit>

#include "app/invalid_input.hpp"

namespace psflip::spin_glass {
namespace {

void check_choice(const std::string& option, const std::string& wish, const std::vector<std::string>& offered) {
  if (std::ranges::count(offered, wish)) return;
  const std::string message = option + " is " + wish + ": ";
  if (offered.empty()) throw InvalidInput(message + "this stage has no choice of it; leave it out");
  throw InvalidInput(message + "for this problem the stage has " + joined(offered));
}

}  // namespace

void check(const Problem& problem, const std::vector<Generator>& offered) {
  check(problem);
  std::vector<std::string> words;
  for (const Generator generator : offered) words.emplace_back(name(generator));
  check_choice("--generator", std::string(name(problem.generator)), words);
}

void check_threads(int threads, int most) {
  if (threads < 1 || threads > most)
    throw InvalidInput("--threads is " + std::to_string(threads) + ": allowed are 1 to " + std::to_string(most));
}

void narrow(std::vector<Launch>& launches, const Launch& wish) {
  for (const LaunchField& field : launch_fields()) {
    const std::optional<std::string> wanted = field.get(wish);
    if (!wanted) continue;
    std::vector<std::string> offered;
    for (const Launch& launch : launches)
      if (const auto value = field.get(launch); value && !std::ranges::count(offered, *value))
        offered.push_back(*value);
    check_choice(field.option, *wanted, offered);
    std::erase_if(launches, [&](const Launch& launch) { return field.get(launch) != wanted; });
  }
}

Launch complete(const Problem& problem, const Launch& wish, Offer offer) {
  check(problem, offer.generators);
  Launch without_threads = wish;
  without_threads.threads.reset();
  narrow(offer.launches, without_threads);
  Launch launch = offer.launches.front();
  if (launch.indexing == Indexing::bitwise && !std::has_single_bit(static_cast<unsigned>(problem.size)))
    throw InvalidInput("--indexing is bitwise: it takes a power of two for --size, not " +
                       std::to_string(problem.size));
  launch.device = wish.device;
  launch.threads = wish.threads.value_or(offer.threads);
  check_threads(*launch.threads, offer.most_threads);
  return launch;
}

}  // namespace psflip::spin_glass
