// The test that every stage of the 2D model passes: on each of its platforms the same bits as the reference, whatever
// the size, the start, the storage and the launch.
//
// ctest runs it a platform and a schedule at a time. By hand:
//   majority_test                                            all platforms
//   PSFLIP_SCHEDULE=reversed majority_test --gtest_filter='*/cpu'
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "app/invalid_input.hpp"
#include "app/state_hash.hpp"
#include "gpu/platform_test.hpp"
#include "majority/lattice.hpp"
#include "majority/platforms.hpp"
#include "majority/simulation.hpp"

namespace psflip::majority {

void PrintTo(const Lattice& lattice, std::ostream* out) { *out << lattice.size << " x " << lattice.size << " spins"; }

namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr int thread_widths[] = {8, 10, 12, 16, 32};
constexpr int block_sides[] = {1, 2, 3, 4, 5};
constexpr int steps_per_pass[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 64};

/// Where spins are wrong, on at most 32 x 32 characters: "#" if one is among those that the character stands for.
std::string map_of_wrong(const Lattice& found, const Lattice& expected) {
  const std::int64_t n = found.size, most = 32, side = (n - 1) / most + 1, cells = (n - 1) / side + 1;
  std::vector<std::string> rows(static_cast<std::size_t>(cells), std::string(static_cast<std::size_t>(cells), '.'));
  for (std::size_t i = 0; i < found.spins.size(); ++i) {
    const auto x = static_cast<std::int64_t>(i) % n, y = static_cast<std::int64_t>(i) / n;
    if (found.spins[i] != expected.spins[i]) {
      rows[static_cast<std::size_t>(y / side)][static_cast<std::size_t>(x / side)] = '#';
    }
  }
  std::string text = "where, n = " + std::to_string(n) +
                     (side == 1 ? ", a spin a character:\n"
                                : ", " + std::to_string(side) + " x " + std::to_string(side) + " spins a character:\n");
  for (const std::string& row : rows) {
    text += "  | " + row + " |\n";
  }
  return text;
}

/// Says where the first wrong spin is: at an edge, in the padding's reach, at a tile's border?
testing::AssertionResult same(const Lattice& found, const Lattice& expected) {
  if (found == expected) {
    return testing::AssertionSuccess();
  }
  if (found.size != expected.size || found.spins.size() != expected.spins.size()) {
    return testing::AssertionFailure() << "size " << found.size << " with " << found.spins.size() << " spins";
  }
  std::int64_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = found.spins.size(); i-- > 0;) {
    if (found.spins[i] != expected.spins[i]) {
      ++wrong;
      first = i;
    }
  }
  return testing::AssertionFailure() << wrong << " of " << found.spins.size()
                                     << " spins are wrong, the first at x = " << first % found.size
                                     << ", y = " << first / found.size << ": " << int{found.spins[first]}
                                     << " instead of " << int{expected.spins[first]} << '\n'
                                     << map_of_wrong(found, expected);
}

/// The reference from a start on. All launches are compared with the same states, each computed once.
class Reference {
 public:
  explicit Reference(const Lattice& start) : states_{{0, start}} {}

  const Lattice& start() const { return states_.at(0); }
  const Lattice& after(std::int64_t steps) {
    const auto& [done, state] = *std::prev(states_.upper_bound(steps));
    if (done == steps) {
      return state;
    }
    const auto simulation = reference::make_simulation(state.size, {.storage = Storage::int8});
    simulation->set_spins(state);
    simulation->advance(steps - done);
    return states_[steps] = simulation->spins();
  }

 private:
  std::map<std::int64_t, Lattice> states_;  ///< by steps
};

/// Starts that a wrong index shows itself on, each in its own way.
std::vector<Lattice> structured_starts(std::int64_t n) {
  const auto make = [n](auto spin_at) {
    Lattice lattice{n, {}};
    for (std::int64_t y = 0; y < n; ++y) {
      for (std::int64_t x = 0; x < n; ++x) {
        lattice.spins.push_back(spin_at(x, y) ? 1 : -1);
      }
    }
    return lattice;
  };
  const std::int64_t last = n - 1;
  return {
      make([](auto, auto) { return true; }),
      make([](auto, auto) { return false; }),
      make([](auto x, auto y) { return x != 0 || y != 0; }),                // a lone spin in a corner
      make([last](auto x, auto y) { return x != last || y != last / 2; }),  // and at an edge
      make([](auto x, auto) { return x % 2 == 0; }),                        // stripes down
      make([](auto, auto y) { return y % 3 == 0; }),                        // and across
      make([](auto x, auto y) { return (x + y) % 2 == 0; }),                // checkerboard
      make([](auto x, auto y) { return 2 * x < y; }),                       // a wedge, like none of its mirror images
      make([last](auto x, auto y) { return x == 0 || y == 0 || x == last; }),  // walls that meet across the edges
  };
}

class Engine : public PlatformTest<platforms> {
 protected:
  std::unique_ptr<Simulation> make(std::int64_t size, const Launch& launch) const {
    return platform_->make(size, launch);
  }

  /// Nothing if the stage or the device cannot do the launch. Then it must say so, naming the value.
  std::unique_ptr<Simulation> make_if_offered(std::int64_t size, const Launch& launch) const {
    try {
      return make(size, launch);
    } catch (const InvalidInput& refusal) {
      EXPECT_THAT(refusal.what(), AnyOf(HasSubstr(std::to_string(launch.thread_width.value_or(-1))),
                                        HasSubstr(std::to_string(launch.block.value_or(-1))),
                                        HasSubstr(std::to_string(launch.steps_per_pass.value_or(-1))),
                                        HasSubstr(launch.storage ? std::string(name(*launch.storage)) : "-1")));
      EXPECT_THAT(refusal.what(), testing::Not(HasSubstr("\n")));
      return nullptr;
    }
  }

  /// The storages that the stage has, everything else left to it.
  std::vector<Launch> offered_storages() const {
    std::vector<Launch> launches = {{.storage = Storage::int32}, {.storage = Storage::int8}, {.storage = Storage::bit}};
    erase_refused(launches);
    EXPECT_FALSE(launches.empty());
    return launches;
  }

  /// All shapes with all storages, without those that the stage refuses.
  std::vector<Launch> offered_launches() const {
    std::vector<Launch> launches = offered_storages();
    for (const Launch& open : offered_storages()) {
      for (const int thread_width : thread_widths) {
        for (const int block : block_sides) {
          launches.push_back({.storage = open.storage, .thread_width = thread_width, .block = block});
        }
      }
      for (const int steps : steps_per_pass) {
        launches.push_back({.storage = open.storage, .steps_per_pass = steps});
      }
    }
    erase_refused(launches);
    return launches;
  }

  void erase_refused(std::vector<Launch>& launches) const {
    std::erase_if(launches, [&](const Launch& launch) { return make_if_offered(1, launch) == nullptr; });
  }

  /// Compares full states after so many steps.
  void expect_reference_bits(Reference& reference, const Launch& launch, const std::vector<std::int64_t>& after) const {
    const std::int64_t size = reference.start().size;
    SCOPED_TRACE("n = " + std::to_string(size) + ", " + in_words(launch));
    const auto simulation = make(size, launch);
    simulation->set_spins(reference.start());
    std::int64_t done = 0;
    for (const std::int64_t steps : after) {
      simulation->advance(steps - done);
      done = steps;
      ASSERT_TRUE(same(simulation->spins(), reference.after(steps))) << "after " << steps << " steps";
    }
  }

  /// For random starts of several sizes, after 1, 2, 3 and `many` steps. `references` are kept, by size.
  void expect_reference_bits(std::map<std::int64_t, Reference>& references, const std::vector<std::int64_t>& sizes,
                             const Launch& launch, std::int64_t many) const {
    for (const std::int64_t size : sizes) {
      Reference& reference = references.try_emplace(size, random_lattice(size, 17)).first->second;
      expect_reference_bits(reference, launch, {1, 2, 3, many});
    }
  }
};

/// The reference against itself would prove nothing; the test of its stage says what it is compared with.
class EngineAgainstReference : public Engine {};

TEST_P(Engine, IsTheOneThatFactsDescribe) {
  const auto simulation = make(64, {});
  simulation->set_spins(random_lattice(64, 42));
  EXPECT_EQ(hex(state_hash(simulation->spins())), "6d9bdfa9445da604");
  simulation->advance(10);
  const Lattice after_ten = simulation->spins();
  EXPECT_EQ(hex(state_hash(after_ten)), "c6f3b5ff575f52bc");
  EXPECT_EQ(magnetisation(after_ten), 138);
  EXPECT_EQ(energy(after_ten), -5176);

  const auto larger = make(100, {});
  larger->set_spins(random_lattice(100, 42));
  larger->advance(1);
  const Lattice after_one = larger->spins();
  EXPECT_EQ(hex(state_hash(after_one)), "b2a14d1263ef9f4a");
  EXPECT_EQ(magnetisation(after_one), 146);
  EXPECT_EQ(energy(after_one), -5412);
}

TEST_P(Engine, KeepsTheStateItIsGiven) {
  for (const Launch& launch : offered_launches()) {
    for (const std::int64_t size : {1, 45}) {
      SCOPED_TRACE("n = " + std::to_string(size) + ", " + in_words(launch));
      const auto simulation = make(size, launch);
      const Lattice first = random_lattice(size, 1);
      simulation->set_spins(first);
      EXPECT_TRUE(same(simulation->spins(), first));
      simulation->advance(0);
      EXPECT_TRUE(same(simulation->spins(), first));
      simulation->advance(3);
      const Lattice second = random_lattice(size, 2);
      simulation->set_spins(second);
      EXPECT_TRUE(same(simulation->spins(), second));
    }
  }
}

TEST_P(Engine, StartsAgainWithoutATraceOfTheRunBefore) {
  const Lattice start = random_lattice(67, 3);
  const auto simulation = make(67, {});
  simulation->set_spins(random_lattice(67, 4));
  simulation->advance(5);
  simulation->set_spins(start);
  simulation->advance(4);
  const Lattice once = simulation->spins();
  simulation->set_spins(start);
  simulation->advance(1);
  simulation->advance(3);
  EXPECT_TRUE(same(simulation->spins(), once));
}

TEST_P(Engine, ReportsTheLaunchThatItUses) {
  for (const Launch& wish : offered_launches()) {
    const Launch used = make(20, wish)->launch();
    EXPECT_EQ(used.device, wish.device);
    EXPECT_EQ(used.storage, wish.storage);
    if (wish.steps_per_pass) {
      EXPECT_EQ(used.steps_per_pass, wish.steps_per_pass);
    }
    if (wish.thread_width) {
      EXPECT_EQ(used.thread_width, wish.thread_width);
    }
    if (wish.block) {
      EXPECT_EQ(used.block, wish.block);
    }
    EXPECT_NE(make_if_offered(20, used), nullptr) << "cannot do again what it did: " << in_words(used);
  }
}

TEST_P(Engine, MeasuresTime) {
  const auto simulation = make(300, {});
  simulation->set_spins(random_lattice(300, 1));
  EXPECT_GT(simulation->advance(3), 0);
}

TEST_P(Engine, RefusesImpossibleLaunchesByValue) {
  for (const int thread_width : {-1, 0, 33, 1000, 65536}) {
    EXPECT_EQ(make_if_offered(20, {.thread_width = thread_width}), nullptr) << "thread width " << thread_width;
  }
  for (const int block : {-1, 0}) {
    EXPECT_EQ(make_if_offered(20, {.block = block}), nullptr) << "block " << block;
  }
  for (const int steps : {-1, 0, 1000}) {
    EXPECT_EQ(make_if_offered(20, {.steps_per_pass = steps}), nullptr) << "steps per pass " << steps;
  }
}

TEST_P(EngineAgainstReference, AgreesForEveryLaunchAndAwkwardSize) {
  const std::vector<Launch> launches = offered_launches();
  EXPECT_GT(launches.size(), offered_storages().size());
  std::map<std::int64_t, Reference> references;
  for (const Launch& launch : launches) {
    const Launch used = make(1, launch)->launch();
    if (used.steps_per_pass) {
      expect_reference_bits(references, {1, 33, 129}, launch, 3 + *used.steps_per_pass);
      continue;
    }
    const std::int64_t tile = std::int64_t{used.thread_width.value()} * used.block.value_or(1);
    std::vector<std::int64_t> sizes = {1, 2, 3, 13, 31, tile - 1, tile, tile + 1};
    if (used.thread_width <= 12) {  // a sanitizer takes too long over the wider ones
      sizes.push_back(2 * tile + 1);
    }
    expect_reference_bits(references, sizes, launch, 4);
  }
}

TEST_P(EngineAgainstReference, AgreesForEveryNumberOfStepsAndManyAwkwardSizes) {
  std::map<std::int64_t, Reference> references;
  for (const Launch& launch : offered_launches()) {
    const Launch used = make(1, launch)->launch();
    if (!used.steps_per_pass) {
      continue;
    }
    std::vector<std::int64_t> sizes = {2, 3, 31, 64, 65, 127, 128, 130};
    if (!launch.steps_per_pass) {  // a sanitizer takes too long over all sizes for every launch
      sizes.insert(sizes.end(), {13, 32, 63, 255, 256, 257, 385});
    }
    expect_reference_bits(references, sizes, launch, 3 + *used.steps_per_pass);
  }
  EXPECT_EQ(references.empty(), !make_if_offered(1, {.steps_per_pass = 2}));
}

TEST_P(EngineAgainstReference, AgreesOnVeryLargeLattices) {
  const int steps = GetParam() == "gpu" ? 16 : 4;  // a pass of any number divides the lattice in the same way
  const Launch launch{.steps_per_pass = steps};
  if (!make_if_offered(1, launch)) {
    EXPECT_EQ(make(1, {})->launch().steps_per_pass, std::nullopt);
    return;  // the stage works in small squares, all alike
  }
  for (const std::int64_t size : {3840, 3841}) {  // one strip of 30 x 128 sites, and two
    Reference reference(random_lattice(size, 29));
    expect_reference_bits(reference, launch, {1, 1 + steps});
  }
}

TEST_P(EngineAgainstReference, AgreesOnStructuredStarts) {
  for (const std::int64_t size : {1, 2, 3, 4, 16, 37, 133}) {
    for (const Lattice& start : structured_starts(size)) {
      Reference reference(start);
      for (const Launch& launch : offered_storages()) {
        expect_reference_bits(reference, launch, {1, 2, 3, 11});
      }
    }
  }
}

TEST_P(EngineAgainstReference, AgreesAfterManySteps) {
  Reference reference(random_lattice(101, 23));
  for (const Launch& launch : offered_storages()) {
    expect_reference_bits(reference, launch, {1, 2, 3, 50});
  }
}

std::vector<std::string> platform_names(bool with_reference) {
  std::vector<std::string> names = names_of(platforms());
  if (!with_reference) std::erase(names, "reference");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Majority, Engine, testing::ValuesIn(platform_names(true)), by_name);
INSTANTIATE_TEST_SUITE_P(Majority, EngineAgainstReference, testing::ValuesIn(platform_names(false)), by_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EngineAgainstReference);

}  // namespace
}  // namespace psflip::majority
