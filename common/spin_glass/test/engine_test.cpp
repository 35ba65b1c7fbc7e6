#include "spin_glass/test/engine_test.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>

#include "random/streams.hpp"

namespace psflip::spin_glass {

void PrintTo(const State& state, std::ostream* out) {
  *out << state.samples << " samples of " << state.replicas << " replicas of L = " << state.size;
}

std::string describe(const Problem& problem) {
  return "L = " + std::to_string(problem.size) + ", " + std::to_string(problem.samples) + " samples of " +
         std::to_string(problem.replicas) + " replicas, " + std::to_string(problem.samples_per_stream) +
         " a stream, beta = " + std::to_string(problem.beta) +
         ", p = " + std::to_string(problem.ferromagnetic_fraction) + ", start " + std::string(name(problem.start)) +
         ", generator " + std::string(name(problem.generator));
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
  if (wrong == 0) return testing::AssertionFailure() << "the spins are right, but not what exchanges have done";
  const std::int64_t size = found.size, site = first % (size * size * size), lattice = first / (size * size * size);
  const std::int64_t x = site % size, y = site / size % size, z = site / (size * size);
  return testing::AssertionFailure() << wrong << " of " << found.spins.size()
                                     << " spins are wrong, the first in sample " << lattice / found.replicas
                                     << ", replica " << lattice % found.replicas << ", at the "
                                     << ((x + y + z) % 2 == 0 ? "red" : "blue") << " site x = " << x << ", y = " << y
                                     << ", z = " << z << ": " << int{found.spins[first]} << " instead of "
                                     << int{expected.spins[first]};
}

namespace {

/// Draw number n of a site's stream, where the standard library has the generator.
std::optional<std::uint32_t> draw_of(const Problem& problem, std::int64_t sample, std::int64_t site, std::int64_t n) {
  const std::uint64_t seed = stream_seed(origin(problem), sample / problem.samples_per_stream, site);
  if (problem.generator == Generator::minstd) {
    std::minstd_rand0 stream(static_cast<std::uint32_t>(1 + seed % 0x7ffffffe));
    stream.discard(static_cast<unsigned long long>(n));
    return static_cast<std::uint32_t>(stream()) - 1;
  }
  if (problem.generator == Generator::mt19937) {
    std::mt19937 stream(static_cast<std::uint32_t>(seed));
    stream.discard(static_cast<unsigned long long>(n));
    return static_cast<std::uint32_t>(stream());
  }
  return {};
}

struct Bond {
  std::string to;
  int spin, coupling;
};

/// The six bonds of a site of one lattice.
std::vector<Bond> bonds_of(std::int64_t size, std::span<const Spin> spins, const std::vector<Coupling>& couplings,
                           std::int64_t site) {
  const std::int64_t steps[] = {1, size, size * size};
  std::vector<Bond> bonds;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t at = site / steps[d] % size;
    for (const int sign : {1, -1}) {
      const std::int64_t other = site + ((at + sign + size) % size - at) * steps[d];
      const std::size_t owner = static_cast<std::size_t>(sign > 0 ? site : other);
      bonds.push_back({std::string(sign > 0 ? "+" : "-") + "xyz" [d], int { spins[static_cast<std::size_t>(other)] },
                       int{couplings[3 * owner + d]}});
    }
  }
  return bonds;
}

}  // namespace

std::string first_mistake(const Problem& problem, std::int64_t half_sweep, const State& before, const State& found,
                          const State& expected) {
  const std::int64_t size = problem.size, sites = size * size * size;
  const auto colour_of = [size](std::int64_t site) { return (site + site / size + site / (size * size)) % 2; };
  const auto colour = (half_sweep - 1) % 2;
  std::array<std::int64_t, 7> wrong{}, all{};  // by the number of satisfied bonds
  std::int64_t untouchable = 0;                // of the other colour
  std::string first;
  for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
    const std::vector<Coupling> couplings = sample_couplings(problem, sample);
    for (std::int64_t replica = 0; replica < problem.replicas; ++replica) {
      const auto then = before.of(sample, replica), is = found.of(sample, replica),
                 right = expected.of(sample, replica);
      for (std::int64_t site = 0; site < sites; ++site) {
        const auto s = static_cast<std::size_t>(site);
        if (colour_of(site) != colour) {
          untouchable += is[s] != right[s];
          continue;
        }
        const std::vector<Bond> bonds = bonds_of(size, then, couplings, site);
        const auto satisfied =
            std::ranges::count_if(bonds, [&](const Bond& b) { return b.coupling * b.spin == then[s]; });
        ++all[static_cast<std::size_t>(satisfied)];
        if (is[s] == right[s]) continue;
        ++wrong[static_cast<std::size_t>(satisfied)];
        if (!first.empty()) continue;

        std::ostringstream text;
        text << "the first: sample " << sample << ", replica " << replica << ", x = " << site % size
             << ", y = " << site / size % size << ", z = " << site / (size * size) << ", spin " << int{then[s]} << '\n';
        for (const Bond& b : bonds)
          text << "  " << b.to << ": neighbour " << b.spin << ", bond " << b.coupling
               << (b.coupling * b.spin == then[s] ? ", satisfied\n" : "\n");
        const auto n = (half_sweep - 1) / 2 * problem.replicas + replica;
        text << "  " << satisfied << " satisfied, a flip costs " << 4 * satisfied - 12;
        if (satisfied > 3)
          text << ", threshold " << thresholds(beta_of(problem, replica), problem.generator).of[6 - satisfied];
        text << "; draw number " << n;
        if (const auto draw = draw_of(problem, sample, site, n)) text << " is " << *draw;
        text << (right[s] == then[s] ? ": it stays\n" : ": it flips\n");
        first = text.str();
      }
    }
  }
  std::ostringstream text;
  text << "half-sweep " << half_sweep << " (" << (colour == 0 ? "red" : "blue") << ") is the first that is wrong\n"
       << first << "wrong of all, by satisfied bonds:";
  for (std::size_t n = 0; n < all.size(); ++n) text << "  " << n << ": " << wrong[n] << " of " << all[n];
  text << '\n';
  if (untouchable > 0) text << untouchable << " spins of the other colour have changed\n";
  return text.str();
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

Problem with_generator(Problem problem, Generator generator) {
  problem.generator = generator;
  if (generator == Generator::philox_planes) problem.samples_per_stream = 1;
  return problem;
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
