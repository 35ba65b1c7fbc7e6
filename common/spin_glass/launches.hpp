/// Which launches a stage of the 3D model offers, and how a wish becomes one of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/host.hpp"
#include "app/invalid_input.hpp"
#include "gpu/check.hpp"
#include "spin_glass/simulation.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// What a stage can do; the first of each list is its choice, unless it says otherwise. An empty list: the stage has
/// nothing of the kind to choose.
struct Offer {
  std::vector<spin_glass::Generator> generators{spin_glass::Generator::minstd};
  std::vector<spin_glass::Indexing> indexings;
  std::vector<spin_glass::Load> loads;
  std::vector<int> sites_per_thread;
  std::vector<spin_glass::Kernel> kernels;
  std::vector<int> samples_per_word;
  std::vector<int> clusters;
  std::vector<int> replicas_together;
  std::vector<spin_glass::Transport> transports;
  int threads = 256;        ///< the stage's choice
  int most_threads = 1024;  ///< of a block
};

/// The wish, or the stage's choice; InvalidInput unless it is among those offered.
template <class T, class Name>
std::optional<T> choose(const char* option, const std::optional<T>& wish, const std::vector<T>& offered, Name name) {
  if (!wish) return offered.empty() ? std::nullopt : std::optional<T>(offered.front());
  if (std::ranges::count(offered, *wish)) return wish;
  std::string message = std::string(option) + " is " + name(*wish) + ": ";
  if (offered.empty()) throw InvalidInput(message + "this stage has no choice of it; leave it out");
  message += "for this problem the stage has ";
  for (std::size_t i = 0; i < offered.size(); ++i) message += (i ? ", " : "") + name(offered[i]);
  throw InvalidInput(message);
}

/// The launch with its empty fields filled in. Throws InvalidInput if the problem is none, or if the stage does not
/// offer the launch or the generator.
inline spin_glass::Launch complete(const spin_glass::Problem& problem, spin_glass::Launch launch, const Offer& offer) {
  check(problem);
  const auto called = [](auto value) { return std::string(name(value)); };
  const auto digits = [](int value) { return std::to_string(value); };
  choose<spin_glass::Generator>("--generator", problem.generator, offer.generators, called);
  launch.indexing = choose("--indexing", launch.indexing, offer.indexings, called);
  launch.load = choose("--load", launch.load, offer.loads, called);
  if (launch.indexing == spin_glass::Indexing::bitwise && !std::has_single_bit(static_cast<unsigned>(problem.size)))
    throw InvalidInput("--indexing is bitwise: it takes a power of two for --size, not " +
                       std::to_string(problem.size));
  launch.kernel = choose("--kernel", launch.kernel, offer.kernels, called);
  launch.samples_per_word = choose("--samples-per-word", launch.samples_per_word, offer.samples_per_word, digits);
  launch.cluster = choose("--cluster", launch.cluster, offer.clusters, digits);
  launch.replicas_together = choose("--replicas-together", launch.replicas_together, offer.replicas_together, digits);
  launch.transport = choose("--transport", launch.transport, offer.transports, called);
  launch.sites_per_thread = choose("--sites-per-thread", launch.sites_per_thread, offer.sites_per_thread, digits);
  launch.threads = launch.threads.value_or(offer.threads);
  if (*launch.threads < 1 || *launch.threads > offer.most_threads)
    throw InvalidInput("--threads is " + std::to_string(*launch.threads) + ": allowed are 1 to " +
                       std::to_string(offer.most_threads));
  return launch;
}

/// Throws InvalidInput if an engine that needs so many bytes does not fit into the device's free memory.
inline void refuse_large_problem(const spin_glass::Problem& problem, const spin_glass::Launch& launch,
                                 double bytes_needed) {
  std::size_t free = 0, total = 0;
  CHECK_CUDA(cudaSetDevice(launch.device));
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  if (bytes_needed <= static_cast<double>(free)) return;
  throw InvalidInput("--size " + std::to_string(problem.size) + " with " + std::to_string(problem.samples) +
                     " samples of " + std::to_string(problem.replicas) + " replicas needs " +
                     readable_bytes(bytes_needed) + " of device memory; " + readable_bytes(static_cast<double>(free)) +
                     " are free");
}

/// Samples lie along a dimension of the grid that counts to 65535; beyond it the kernel loops.
inline unsigned grid_samples(std::int64_t samples) {
  return static_cast<unsigned>(std::min<std::int64_t>(samples, 65535));
}

}  // namespace psflip::PSFLIP_PLATFORM
