#include "spin_glass/test/engine_test.hpp"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <set>

namespace psflip::spin_glass {

void PrintTo(const State& state, std::ostream* out) {
  *out << state.samples << " samples of " << state.replicas << " replicas of L = " << state.size;
}

std::string describe(const Problem& problem) {
  return "L = " + std::to_string(problem.size) + ", " + std::to_string(problem.samples) + " samples of " +
         std::to_string(problem.replicas) + " replicas, " + std::to_string(problem.samples_per_stream) +
         " a stream, beta = " + std::to_string(problem.beta) +
         ", p = " + std::to_string(problem.ferromagnetic_fraction) + ", start " + std::string(name(problem.start));
}

std::string describe(const Launch& launch) { return in_words(launch); }

testing::AssertionResult same(const State& found, const State& expected) {
  if (found == expected) {
    return testing::AssertionSuccess();
  }
  if (found.size != expected.size || found.samples != expected.samples || found.replicas != expected.replicas ||
      found.spins.size() != expected.spins.size()) {
    return testing::AssertionFailure() << testing::PrintToString(found) << " with " << found.spins.size() << " spins";
  }
  std::int64_t wrong = 0, first = -1;
  for (std::int64_t i = 0; i < std::ssize(found.spins); ++i) {
    if (found.spins[i] != expected.spins[i]) {
      ++wrong;
      first = first < 0 ? i : first;
    }
  }
  const std::int64_t size = found.size, site = first % (size * size * size), lattice = first / (size * size * size);
  const std::int64_t x = site % size, y = site / size % size, z = site / (size * size);
  return testing::AssertionFailure() << wrong << " of " << found.spins.size()
                                     << " spins are wrong, the first in sample " << lattice / found.replicas
                                     << ", replica " << lattice % found.replicas << ", at the "
                                     << ((x + y + z) % 2 == 0 ? "red" : "blue") << " site x = " << x << ", y = " << y
                                     << ", z = " << z << ": " << int{found.spins[first]} << " instead of "
                                     << int{expected.spins[first]};
}

bool chooses_only(const Launch& launch, const std::vector<std::string>& fields) {
  return std::ranges::all_of(launch_fields(), [&](const LaunchField& field) {
    return !field.get(launch) || field.name == "threads" || std::ranges::count(fields, field.name) > 0;
  });
}

std::vector<Launch> all_launches() {
  std::vector<std::optional<Indexing>> some_indexings{std::nullopt};
  some_indexings.insert(some_indexings.end(), indexings.begin(), indexings.end());
  std::vector<std::optional<Load>> some_loads{std::nullopt};
  some_loads.insert(some_loads.end(), loads.begin(), loads.end());
  std::vector<Launch> launches;
  for (const auto& indexing : some_indexings) {
    for (const auto& load : some_loads) {
      for (const std::optional<int> sites : std::initializer_list<std::optional<int>>{{}, 0, 1, 2, 3, 4, 8, 16}) {
        launches.push_back({.indexing = indexing, .load = load, .sites_per_thread = sites});
      }
    }
  }
  std::vector<std::optional<Kernel>> some_kernels{std::nullopt};
  some_kernels.insert(some_kernels.end(), kernels.begin(), kernels.end());
  for (const auto& kernel : some_kernels) {
    for (const std::optional<int> samples : std::initializer_list<std::optional<int>>{{}, 0, 1, 32, 33, 64, 128, 256}) {
      for (const std::optional<int> cluster : std::initializer_list<std::optional<int>>{{}, 0, 1, 2, 3, 16, 17}) {
        for (const std::optional<int> together : std::initializer_list<std::optional<int>>{{}, 0, 1, 2, 3, 4}) {
          if (kernel || samples || cluster || together) {
            launches.push_back(
                {.kernel = kernel, .samples_per_word = samples, .cluster = cluster, .replicas_together = together});
          }
        }
      }
      for (const Transport transport : transports) {
        launches.push_back({.kernel = kernel, .samples_per_word = samples, .transport = transport});
      }
    }
  }
  return launches;
}

namespace {

/// Those that can be done, with every choice made.
std::vector<Launch> with_every_choice(std::vector<Launch> launches) {
  // Leaving a choice to the stage is one of the others, if there is a choice at all.
  for (const LaunchField& field : launch_fields()) {
    // Some kernels have a choice that others do not have.
    std::set<std::optional<Kernel>> choosing;
    for (const Launch& launch : launches)
      if (field.get(launch)) choosing.insert(launch.kernel);
    std::erase_if(launches, [&](const Launch& launch) {
      return !field.get(launch) && (choosing.contains(launch.kernel) || (!launch.kernel && !choosing.empty()));
    });
  }
  return launches;
}

}  // namespace

int ranks() {
  const char* const number = std::getenv("OMPI_COMM_WORLD_SIZE");
  return number != nullptr ? std::stoi(number) : 1;
}

Problem small_problem(std::int64_t size) {
  size = std::max<std::int64_t>(size, 2 * ranks());
  return {.size = size, .beta = 0.7, .samples = 3, .replicas = 2, .samples_per_stream = 2, .seed = 17};
}

std::unique_ptr<Simulation> Engine::make(const Problem& problem, const Launch& launch) const {
  return platform_->make(problem, launch);
}

std::string Engine::refusal(const Problem& problem, const Launch& launch) const {
  try {
    make(problem, launch);
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
    return error.what();
  }
  return "";
}

bool Engine::can_do(const Problem& problem, const Launch& launch) const {
  return up_to_the_machine(launch, GetParam()) ? refusal(problem, launch).empty()
                                               : promises(problem, launch, GetParam());
}

std::vector<Launch> Engine::launches_for(const Problem& problem) const {
  std::vector<Launch> launches;
  std::ranges::copy_if(all_launches(), std::back_inserter(launches),
                       [&](const Launch& launch) { return can_do(problem, launch); });
  return with_every_choice(launches);
}

std::vector<Launch> Engine::indexings_for(const Problem& problem) const {
  std::vector<Launch> launches;
  for (const Launch& launch : all_launches()) {
    const bool named = launch.indexing || launch.kernel || launch.transport;
    if (named && values_of(launch).size() == 1 && can_do(problem, launch)) {
      launches.push_back(launch);
    }
  }
  return launches;
}

std::vector<std::string> platform_names(bool with_reference) {
  std::vector<std::string> names = names_of(platforms());
  if (!with_reference) std::erase(names, "reference");
  return names;
}

}  // namespace psflip::spin_glass
