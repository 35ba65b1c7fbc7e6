/// What tests of a stage's engine of the 3D model are made of: the shared one (test.cpp), and a stage's own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "app/invalid_input.hpp"
#include "gpu/platform_test.hpp"
#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/engine/simulation.hpp"

namespace psflip::spin_glass {

// ---- What a stage promises, and the shared test asserts: promises.cpp beside its update.cu.

/// Whether the stage can do a launch, threads aside; problems have sizes to 10.
bool promises(const Problem& problem, const Launch& launch, const std::string& platform);
/// Whether it has the generator.
bool promises(Generator generator, const std::string& platform);
/// Whether that is up to the machine, so that nothing is promised.
bool up_to_the_machine(const Launch& launch, const std::string& platform);
/// Of a block.
int most_threads();
/// A launch of which every sweep moves spins, and the bytes that a spin takes.
Launch moving_launch();
double bytes_per_spin();
/// Whether engines measure where the spins are (Observing).
bool observes_on_the_device();
/// What is refused besides, each with a part of what is then said.
struct Refusal {
  Problem problem;
  Launch launch;
  std::string part;
};
std::vector<Refusal> refusals();

/// Whether nothing else is chosen than some of these fields, which the stage has, and threads.
bool chooses_only(const Launch& launch, const std::vector<std::string>& fields);

// ----

void PrintTo(const State& state, std::ostream* out);
std::string describe(const Problem& problem);
std::string describe(const Launch& launch);

/// Says where the first wrong spin is: at an edge, in one colour, in later samples or replicas only?
testing::AssertionResult same(const State& found, const State& expected);
/// What happened at the first wrong site: an engine had the reference's spins `before` half-sweep number `half_sweep`
/// (from 1 on), and has `found` in place of `expected` after it. Neighbours, bonds, draw; and which sites are wrong.
std::string first_mistake(const Problem& problem, std::int64_t half_sweep, const State& before, const State& found,
                          const State& expected);

/// Ranks of MPI, as Open MPI's mpirun says, among which an engine may divide the lattice.
int ranks();
/// Of this size, or of the next that has a plane for every rank: there are L / 2.
Problem small_problem(std::int64_t size);

/// The problem with another generator, and as many samples a stream as that allows.
Problem with_generator(Problem problem, Generator generator);

/// All launches that the interface can name, threads left to the stage.
std::vector<Launch> all_launches();

class Engine : public PlatformTest<platforms> {
 protected:
  std::unique_ptr<Simulation> make(const Problem& problem, const Launch& launch) const;
  /// The one line in which the engine refuses a problem or a launch; empty if it does not.
  std::string refusal(const Problem& problem, const Launch& launch) const;
  bool can_do(const Problem& problem, const Launch& launch) const;
  /// The launches that the stage has for a problem.
  std::vector<Launch> launches_for(const Problem& problem) const;
  /// One for each indexing, or kernel, or transport, that the stage has for a problem.
  std::vector<Launch> indexings_for(const Problem& problem) const;
};

/// Names of the program's platforms; `with_reference`: the reference, too.
std::vector<std::string> platform_names(bool with_reference);

}  // namespace psflip::spin_glass
