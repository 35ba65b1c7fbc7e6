/// The 3D +-J Edwards-Anderson spin glass: everything that determines the bits of a run.
///
/// L x L x L spins on a cubic lattice with periodic boundaries; the site at (x, y, z) has the number s = x + L (y + L
/// z). J_d(s) = +-1 couples s to its neighbour in direction +d. H = - sum over all bonds of J s s'.
///
/// Metropolis dynamics. A site is red if x + y + z is even, else blue. One sweep updates all red sites, then all blue
/// ones. For a site with u unsatisfied bonds a flip costs dE = 12 - 4u; it flips if dE <= 0 or its draw is less than
/// threshold(dE).
///
/// `samples` realisations of the couplings are simulated together, `replicas` copies of each: the same couplings, each
/// with a start and random numbers of its own. Samples gW .. gW + W - 1 form the group g (W = samples_per_stream).
/// Every site of a group has one random stream (random/streams.hpp). Its draw number n = sweep * replicas + replica
/// decides this site in that sweep and replica, in all samples of the group.
///
/// The generator philox-planes is for many sites of one sample at once, so W has to be 1: every site of every sample
/// and replica has draws of its own, and 32 of them lie side by side as the bits of words.
///
/// - Words. b is the largest divisor of L up to 32, and m = L / b. In the coordinates x' = x, y' = y - x and
///   z' = x - y + z (mod L), bit j of word w belongs to the site with x' = j m + w mod m, y' = w / m mod L, and, if it
///   is red, z' = 2 (w / (m L)). Blue sites, z' odd, count on: z' = 2 ((w - c) / (m L)) + 1, where c = m L^2 / 2 is the
///   number of red words.
/// - A draw has 32 bits. P(i, n)[k] is word k of Philox4x32-10 with key = seed and counter = (w, i, sweep, n). Eight
///   bits are from planes: bit j of P(replica, 32 sample)[0] on top, of [1], [2], [3], and then of P(replica,
///   32 sample + 1)[0] to [3]. Where all eight are 0, and so they are at k sites of the word with lower j, the other 24
///   bits are those on top of P(replica / 4, 2^31 + 32 sample + k)[replica mod 4]. Elsewhere nobody needs them.
/// - A flip that costs energy is accepted if the threshold has a 1 where the draw has its first 1, should that be one
///   of the eight bits; else if the other 24 bits are less than those of the threshold. That has the probability
///   threshold / 2^32, exactly.
///
/// With a ladder of n temperatures T_0 < T_1 < ... the replicas are copies of it: replica c n + t is at T_t in copy c.
/// After every `exchange_every` sweeps some neighbours in temperature may change places (model/exchange.hpp): it is
/// the spins that go, so that a replica keeps its temperature, its draws and its thresholds.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "app/text.hpp"
#include "gpu/host_device.hpp"
#include "random/streams.hpp"

namespace psflip::spin_glass {

/// +1 (up) or -1 (down).
using Spin = std::int8_t;
/// +1 (ferromagnetic) or -1.
using Coupling = std::int8_t;

enum class Generator {
  minstd,
  parisi_rapuano,
  mt19937,
  philox,
  philox_planes,
  curand_xorwow,
  curand_philox,
  curand_mtgp32
};
enum class Start { random, ordered };

constexpr std::array<std::string_view, 8> names_of(Generator) {
  return {"minstd",        "parisi-rapuano", "mt19937",       "philox",
          "philox-planes", "curand-xorwow",  "curand-philox", "curand-mtgp32"};
}
constexpr std::array<std::string_view, 2> names_of(Start) { return {"random", "ordered"}; }

inline constexpr auto all_generators = values<Generator>();
/// Those with a stream for every site, and one for words of sites. Their bits are defined here: a run with one of them
/// has the same bits wherever it is done.
inline constexpr std::array stream_generators{Generator::minstd, Generator::parisi_rapuano, Generator::mt19937,
                                              Generator::philox};
inline constexpr std::array generators{Generator::minstd, Generator::parisi_rapuano, Generator::mt19937,
                                       Generator::philox, Generator::philox_planes};
/// Those of NVIDIA's library cuRAND, for comparison: on a GPU only, where a stage has them. What they give is cuRAND's
/// business, so only the physics can tell whether a run with one of them is right.
inline constexpr std::array curand_generators{Generator::curand_xorwow, Generator::curand_philox,
                                              Generator::curand_mtgp32};

/// How many numbers a stream gives before it repeats itself; what is more than 2^62 counts as 2^62.
std::int64_t period(Generator generator);

/// How many 32-bit words a stream's future depends on (engine/simulation.hpp has them); nothing for cuRAND's, whose
/// streams cannot leave their engine.
std::optional<int> stream_words(Generator generator);

/// The temperatures of replica exchange (parallel tempering).
struct Ladder {
  std::vector<double> temperatures{};  ///< they rise; two or more, or none: then all replicas have the problem's beta
  std::int64_t exchange_every = 10;    ///< sweeps, 1 or more

  explicit operator bool() const { return !temperatures.empty(); }
  friend bool operator==(const Ladder&, const Ladder&) = default;
};

inline constexpr std::int64_t most_copies = 4;  ///< of a ladder
inline constexpr std::int64_t most_ladder_replicas =
    128;  ///< with different temperatures, so that kernels have a table

struct Problem {
  std::int64_t size = 16;                ///< L: even, 4 to largest_size
  double beta = 1.0;                     ///< inverse temperature: finite, 0 or more; a ladder has others instead
  std::int64_t samples = 1;              ///< M, 1 or more
  std::int64_t replicas = 4;             ///< R, 1 or more
  std::int64_t samples_per_stream = 32;  ///< W, 1 or more
  Generator generator = Generator::minstd;
  std::uint64_t seed = 42;
  Start start = Start::random;          ///< each spin up or down with probability 1/2, or all up
  double ferromagnetic_fraction = 0.5;  ///< p: the probability of J = +1, 0 to 1
  /// Couplings to use instead of random ones, as sample_couplings() orders them: one element a sample.
  std::shared_ptr<const std::vector<std::vector<Coupling>>> given_couplings{};
  Ladder ladder{};  ///< replicas = copies * temperatures, if there is one
  /// S, a multiple of W: these are samples S, S + 1, ... of a larger problem, with the bits that they have there.
  /// Everywhere else samples and groups are numbered from 0.
  std::int64_t first_sample = 0;
};

inline constexpr std::int64_t most_numbered_samples = 1 << 26;  ///< so that 32 bits hold what philox-planes counts
inline constexpr int smallest_size = 4;  ///< L = 2 doubles its bonds, and checkerboard Metropolis is not ergodic there
inline constexpr int largest_size = 1624;  ///< so that an int numbers the sites of one colour

/// How many samples share their random numbers if nobody says it.
constexpr std::int64_t usual_samples_per_stream(Generator generator) {
  return generator == Generator::philox_planes ? 1 : Problem{}.samples_per_stream;
}

/// Throws InvalidInput unless every field is in its range.
void check(const Problem& problem);

/// L^3, the sites of one lattice.
inline std::int64_t sites(const Problem& problem) { return problem.size * problem.size * problem.size; }
/// How many temperatures there are, and how many replicas are at each.
inline std::int64_t temperatures(const Problem& problem) {
  return problem.ladder ? static_cast<std::int64_t>(problem.ladder.temperatures.size()) : 1;
}
inline std::int64_t copies(const Problem& problem) { return problem.replicas / temperatures(problem); }
/// The inverse temperature of a replica.
inline double beta_of(const Problem& problem, std::int64_t replica) {
  return problem.ladder ? 1 / problem.ladder.temperatures[static_cast<std::size_t>(replica % temperatures(problem))]
                        : problem.beta;
}
/// Where all that is hashed has its numbers from: of this, and of nothing else, does first_sample change a bit.
inline Origin origin(const Problem& problem) {
  return {problem.seed, problem.first_sample, problem.first_sample / problem.samples_per_stream};
}
/// How many random streams a site has.
inline std::int64_t groups(const Problem& problem) { return (problem.samples - 1) / problem.samples_per_stream + 1; }

/// The 3 L^3 couplings of a sample: element 3 s + d is J_d(s), d = 0, 1, 2 for x, y, z.
std::vector<Coupling> sample_couplings(const Problem& problem, std::int64_t sample);

/// The L^3 spins with which a replica of a sample starts, in the order of s.
std::vector<Spin> start_spins(const Problem& problem, std::int64_t sample, std::int64_t replica);

/// What a draw must be less than to accept a flip. An energy that falls or stays needs no draw.
struct Thresholds {
  std::uint32_t of[3];  ///< by the number of unsatisfied bonds: u = 0 costs 12, u = 1 costs 8, u = 2 costs 4
};

/// floor(exp(-beta dE) * M), where M is the number of values that the generator's draws can have: 2^31 - 2 for MINSTD,
/// 2^32 for the others; at most 2^32 - 1.
Thresholds thresholds(double beta, Generator generator);

/// Those of every replica, as kernels take them.
struct ReplicaThresholds {
  Thresholds of[most_ladder_replicas];  ///< without a ladder all are the same

  PSFLIP_HOST_DEVICE constexpr const Thresholds& operator[](std::int64_t replica) const {
    return of[static_cast<std::uint32_t>(replica) % most_ladder_replicas];
  }
};
ReplicaThresholds thresholds(const Problem& problem);

}  // namespace psflip::spin_glass
