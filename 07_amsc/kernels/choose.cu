// Which kernel a problem gets: of all launches that are possible, the one that a small model, made of measured times on
// an H200, expects to be fastest.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "07_amsc/kernels/kernels.hpp"
#include "07_amsc/kernels/overlapped/pass.hpp"
#include "07_amsc/kernels/overlapped/tile.hpp"
#include "07_amsc/kernels/strips.hpp"
#include "07_amsc/kernels/trials.hpp"
#include "07_amsc/synchronous/tiles.hpp"
#include "app/invalid_input.hpp"
#include "spin_glass/engine/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;

// Of the kernels without clusters.
constexpr int default_threads = 128;
constexpr int most_threads = 512;

constexpr int most_tiles = 1024;  // of `spread`

/// What the device has.
struct Limits {
  int multiprocessors;
  int shared_bytes;  ///< a block can have
  int cluster;       ///< blocks
};

Limits limits_of(int device) {
  Limits limits{};
  int has_clusters = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&limits.multiprocessors, cudaDevAttrMultiProcessorCount, device));
  CHECK_CUDA(cudaDeviceGetAttribute(&limits.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  CHECK_CUDA(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device));
  limits.cluster = has_clusters ? 16 : 1;
  return limits;
}

/// Numbers of threads that a block of the launch can have; empty if any will do, up to a limit.
std::vector<int> block_sizes(const Problem& problem, const Launch& launch) {
  const int size = static_cast<int>(problem.size);
  if (launch.kernel == Kernel::overlapped) return {amsc::Tile::threads};
  if (launch.kernel == Kernel::synchronous) return {128, 96, 64, 32};
  if (launch.kernel == Kernel::spread) return {spread_crew(problem, launch).threads()};
  if (!launch.cluster) return {};
  const int column = size * Strip{size, *launch.cluster, 0}.rows();  // threads in a plane of a strip
  if (launch.kernel == Kernel::small) return {column * size / 2};
  std::vector<int> sizes;  // resident: as many planes at once
  const int most = *launch.samples_per_word > 32 ? 512 : 1024;
  for (int planes = size / 2; planes >= 1; --planes)
    if (column * planes <= most) sizes.push_back(column * planes);
  return sizes;
}

/// Shared memory.
std::size_t bytes_of_block(const Problem& problem, const Launch& launch) {
  return launch.kernel == Kernel::small ? small_bytes(problem, launch) : resident_bytes(problem, launch);
}

bool possible(const Problem& problem, const Launch& launch, const Limits& limits) {
  if (launch.kernel == Kernel::overlapped) return can_march(problem, *launch.samples_per_word, launch.device);
  if (!launch.cluster) return true;
  if (!Strip{static_cast<int>(problem.size), *launch.cluster, 0}.possible()) return false;
  const std::vector<int> sizes = block_sizes(problem, launch);
  return bytes_of_block(problem, launch) <= static_cast<std::size_t>(limits.shared_bytes) && !sizes.empty() &&
         sizes.back() <= 1024;
}

/// All launches, threads left open.
std::vector<Launch> possible_launches(const Problem& problem, const Launch& wish, const Limits& limits) {
  std::vector<Launch> launches;
  if (problem.generator == Generator::philox_planes) {  // its draws are for words of sites, and there is no choice
    for (const int together : {4, 2, 1})
      if (problem.replicas % together == 0 && problem.replicas / together <= 65535)
        launches.push_back({.device = wish.device, .kernel = Kernel::synchronous, .replicas_together = together});
    for (const int together : {1, 2, 4})  // compute capability 9.0: it asks a barrier for the parity of its phase
      for (int blocks = 1; limits.cluster > 1 && problem.replicas % together == 0 && blocks <= most_tiles;
           blocks *= 2) {
        const Launch launch{
            .device = wish.device, .kernel = Kernel::spread, .cluster = blocks, .replicas_together = together};
        if (spread_crew(problem, launch).possible() &&
            problem.samples * problem.replicas / together * blocks <= spread_blocks(problem, launch))
          launches.push_back(launch);
      }
    return launches;
  }
  const int replicas = replicas_drawn(problem);
  for (const Kernel kernel : kernels) {
    if (kernel == Kernel::synchronous || kernel == Kernel::spread) continue;
    const bool clusters = kernel == Kernel::resident || kernel == Kernel::small;
    const int most_samples = kernel == Kernel::update || kernel == Kernel::small ? 32 : 128;
    if (clusters && replicas == 0) continue;
    for (int k = 32; k <= most_samples; k *= 2) {
      if (k > 32 && problem.samples_per_stream % k != 0) continue;  // a word is for one stream
      Launch launch{.device = wish.device, .kernel = kernel, .samples_per_word = k};
      const bool parts = kernel == Kernel::small;  // a cluster can take some of the replicas
      if (!clusters && possible(problem, launch, limits)) launches.push_back(launch);
      for (int cluster = 1; clusters && cluster <= limits.cluster; ++cluster) {
        for (int together = parts ? 1 : replicas; together <= replicas; together *= 2) {
          launch.cluster = cluster;
          launch.replicas_together = together;
          if (possible(problem, launch, limits)) launches.push_back(launch);
        }
      }
    }
  }
  return launches;
}

/// Of a sweep of kernels with words of sites; fitted to what was measured on an H200 (synchronous/README.md). The fewer
/// replicas a thread has, the sooner it is done, and the more work there is in all.
double expected_of_words(const Problem& problem, const Launch& launch, const Limits& limits) {
  const int log = *launch.replicas_together == 4 ? 2 : *launch.replicas_together - 1;
  if (launch.kernel == Kernel::synchronous) {
    const double words = static_cast<double>(problem.samples * problem.replicas * sites(problem)) /
                         amsc::SiteWords(static_cast<int>(problem.size)).bits;
    const double a_launch[] = {1.0e-6, 1.2e-6, 1.45e-6}, a_word[] = {19.8e-12, 12.8e-12, 9.8e-12};
    return 2 * a_launch[log] + a_word[log] * 132.0 / limits.multiprocessors * words;
  }
  const double blocks =
      static_cast<double>(problem.samples * problem.replicas / *launch.replicas_together) * *launch.cluster;
  const double warps = spread_crew(problem, launch).all_workers() / 32.0 * std::ceil(blocks / limits.multiprocessors);
  const double a_warp[] = {66e-9, 83e-9, 138e-9};
  return std::max(0.95e-6, 0.55e-6 + a_warp[log] * warps);
}

/// Seconds that a sweep will take, roughly: measured on an H200 with four replicas, and scaled.
double expected(const Problem& problem, const Launch& launch, const Limits& limits) {
  const double per_h200 = 132.0 / limits.multiprocessors;
  const double lattice = std::pow(static_cast<double>(problem.size), 3),
               replicas = static_cast<double>(problem.replicas);
  if (launch.kernel == Kernel::synchronous || launch.kernel == Kernel::spread)
    return expected_of_words(problem, launch, limits);
  const double k = *launch.samples_per_word;
  const double words =
      std::ceil(static_cast<double>(std::min(problem.samples, problem.samples_per_stream)) / k) *
      std::ceil(static_cast<double>(problem.samples) / static_cast<double>(problem.samples_per_stream));
  const double flips = lattice * replicas * k * words;
  const double kernel_start = 2.9e-6;
  switch (*launch.kernel) {
    case Kernel::update:
      return std::max(2 * kernel_start, 0.22e-12 * per_h200 * flips);
    case Kernel::wide: {  // elements of 16 bytes may hold replicas that do not exist
      const double filled = std::ceil(replicas * k / 128) * 128 / (replicas * k);
      return std::max(2 * kernel_start, (k == 128 ? 0.155e-12 : 0.142e-12) * filled * per_h200 * flips);
    }
    case Kernel::overlapped: {  // a step takes as long for a tile that is not full
      const double a_step = k == 64 && problem.replicas % 4 == 0 ? 4.0e-6 : k == 128 ? 3.5e-6 : 2.9e-6;
      const double steps =
          overlapped_steps(problem, *launch.samples_per_word, static_cast<std::int64_t>(words), limits.multiprocessors);
      return (kernel_start + a_step * steps) / amsc::Tile::sweeps;
    }
    default:
      break;
  }
  // A block has a multiprocessor, or several share one; a wave of blocks after the other.
  const double cluster = *launch.cluster, parts = replicas / *launch.replicas_together;
  const auto bytes = static_cast<double>(bytes_of_block(problem, launch));
  const double blocks = words * parts * cluster,
               places = cluster > 8 ? 0.85 * limits.multiprocessors : limits.multiprocessors;
  if (launch.kernel == Kernel::small) {
    const double threads = block_sizes(problem, launch).front();
    return std::ceil(blocks / places) * (1e-6 + 1.3e-6 * threads / 1024 * std::sqrt(*launch.replicas_together));
  }
  const double sharing = std::clamp(std::floor(limits.shared_bytes / (bytes + 1024)), 1.0, 4.0);
  const double ps = (k == 32 ? 0.093e-12 : k == 64 ? 0.070e-12 : 0.057e-12) * (1 + 0.06 * (cluster - 1));
  const double shared_by = std::min(sharing, std::ceil(blocks / places));
  return std::ceil(blocks / (places * shared_by)) * shared_by * (flips / blocks * ps * 132 + 1e-6);
}

/// Numbers of threads for a launch: the wish, or all that are worth a try, the stage's choice first.
std::vector<int> threads_for(const Problem& problem, const Launch& launch, const std::optional<int>& wish) {
  if (block_sizes(problem, launch).empty()) {
    if (!wish) return {default_threads, 64, 256, 512};
    check_threads(*wish, most_threads);
    return {*wish};
  }
  std::vector<Launch> offered;
  for (const int threads : block_sizes(problem, launch)) offered.push_back({.threads = threads});
  narrow(offered, {.threads = wish});
  std::vector<int> all;
  for (const Launch& offer : offered) all.push_back(*offer.threads);
  return all;
}

/// The same on this platform.
double expected_here(const Problem& problem, const Launch& launch, const Limits& limits) {
#ifdef __CUDACC__
  return expected(problem, launch, limits);
#else  // barriers cost more than anything else, and a host thread is no multiprocessor
  return 100 * (launch.cluster.value_or(launch.kernel == Kernel::overlapped) + expected(problem, launch, limits));
#endif
}

}  // namespace

std::vector<Possible> possible_launches(const Problem& problem, const Launch& wish) {
  check(problem, {generators.begin(), generators.end()});
  const Limits limits = limits_of(wish.device);
  std::vector<Launch> launches = possible_launches(problem, wish, limits);
  Launch without_threads = wish;
  without_threads.threads.reset();
  narrow(launches, without_threads);
  const auto can_have = [&](const Launch& launch) {
    const std::vector<int> sizes = block_sizes(problem, launch);
    return sizes.empty() ? 1 <= *wish.threads && *wish.threads <= most_threads
                         : std::ranges::count(sizes, *wish.threads) > 0;
  };
  const auto is_free = [&](const Launch& launch) { return block_sizes(problem, launch).empty(); };
  if (wish.threads && std::ranges::any_of(launches, can_have))
    std::erase_if(launches, std::not_fn(can_have));
  else if (wish.threads && std::ranges::any_of(launches, is_free))  // they say what is allowed
    std::erase_if(launches, std::not_fn(is_free));
  const auto cost = [&](const Launch& launch) { return expected_here(problem, launch, limits); };
  std::ranges::stable_sort(launches, {}, cost);
  std::vector<Possible> all;
  for (int group = 0; Launch launch : launches) {
    for (const int threads : threads_for(problem, launch, wish.threads)) {
      launch.threads = threads;
      all.push_back({launch, cost(launch), group});
    }
    ++group;
  }
  return all;
}

std::unique_ptr<Simulation> make_simulation(const Problem& problem, const Launch& wish) {
  const std::vector<Possible> possible = possible_launches(problem, wish);
  const Launch launch = choose(problem, wish, possible);
  if (launch.tried.launches == 0) return make_launch(problem, launch);
  try {
    return make_launch(problem, launch);
  } catch (const InvalidInput&) {  // less memory is free than it was, or it was tried on fewer samples
    return make_launch(problem, possible.front().launch);
  }
}

std::unique_ptr<Simulation> make_launch(const Problem& problem, const Launch& launch) {
  switch (*launch.kernel) {
    case Kernel::update:
      return make_update(problem, launch);
    case Kernel::wide:
      return make_wide(problem, launch);
    case Kernel::overlapped:
      return make_overlapped(problem, launch);
    case Kernel::resident:
      return make_resident(problem, launch);
    case Kernel::synchronous:
      return make_synchronous(problem, launch);
    case Kernel::spread:
      return make_spread(problem, launch);
    default:
      return make_small(problem, launch);
  }
}

}  // namespace psflip::PSFLIP_PLATFORM
