/// Neumann-Ulam walks: x = H x + b, solved by random walks through the matrix.
///
/// A walk, or history, goes from state to state (row to row), and multiplies its weight by W of every entry it uses.
/// - adjoint: starts at s with probability |b_s| / ||b||_1 and walks through H^T; every history adds to all of x.
/// - forward: starts at the entry of x that it estimates and walks through H; every entry has histories of its own.
///
/// Each history draws from its own random stream, whose number is the history's (adjoint) or
/// history * rows + entry (forward). So neither launch shape, layout nor load changes a walk: the number of steps is
/// the same always, x up to the order of floating-point additions.
///
/// Source: S. Hamilton, M. Lupo Pasini, Monte Carlo Linear Solvers in CUDA (technical report).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "06_prng/linear_solver/systems/system.hpp"
#include "app/text.hpp"

namespace psflip::linear {

enum class Method { adjoint, forward };

enum class Estimator {
  collision,  ///< adds the weight wherever the walk is
  expected    ///< adds what the next step would add on average; b itself is then exact. Adjoint only.
};

enum class Generator { philox, xorwow };

/// How the streams of XORWOW are made, as curand_init(seed, subsequence, 0) would. Philox ignores it.
enum class Seeding {
  subsequences,  ///< (seed, stream): 2^67 numbers apart in one sequence. Needs a GPU and cuRAND.
  consecutive,   ///< (low 32 bits of seed + stream, 0)
  random,        ///< (32 random bits, 0)
  hashed         ///< (64 random bits, 0)
};

/// Which reads of the matrix take another path than an ordinary load, which is what nvcc makes of it without further
/// options: ld.ca, cached everywhere (-Xptxas -dlcm=ca). The places are those of the report.
enum class Load {
  plain,
  ldg_h,       ///< __ldg for H; only Estimator::expected reads it, with others it is plain
  ldg_p,       ///< for the CDFs
  ldg_w,       ///< for W
  ldg_index,   ///< for row beginnings and columns
  ldg_all,     ///< for all of these
  restricted,  ///< ordinary loads through const __restrict__ pointers: the compiler chooses
  cg,          ///< all by ld.cg: cached in L2 only, as -Xptxas -dlcm=cg has it
  cv           ///< all by ld.cv: fetched anew each time, as -Xptxas -dlcm=cv has it
};

/// H, P (the CDF), W and column of an entry: in four arrays, or together in 32 bytes.
enum class Layout { arrays, structs };

/// Who walks in the forward method.
enum class Map {
  entry,           ///< a thread per entry: walks all its histories
  history_atomic,  ///< a thread per history: adds to x in memory at each step
  history_reduced  ///< a block per entry, a thread per history: sums in a register, one reduction per block
};

struct Request {
  Method method = Method::adjoint;
  Estimator estimator = Estimator::collision;
  std::int64_t histories = 10000;   ///< adjoint: of all; forward: of each entry. >= 1
  std::int64_t max_steps = 100000;  ///< of a history, >= 0
  double cutoff = 1e-9;             ///< a history ends when |w / w_0| is below; 0: it takes all its steps. 0 .. 1
  Generator generator = Generator::philox;
  Seeding seeding = Seeding::hashed;
  int discard = 0;          ///< numbers of each stream that are thrown away at first, >= 0
  int batch = 1;            ///< numbers that a stream makes at a time, ahead of use: 1 or 5
  Load load = Load::plain;  ///< others: with Philox and batch 1 only; ldg_all is all that structs have besides
  Layout layout = Layout::arrays;
  Map map = Map::entry;  ///< of forward; adjoint always has a thread a history
  int threads = 256;     ///< of a block: a multiple of 32, at most 1024
  int per_thread =
      1;  ///< histories of a thread (map entry: entries; history_reduced: histories), one by one, 1 .. 65536
  std::uint64_t seed = 42;
  int groups = 16;  ///< independent parts of the histories, which the standard error comes from. >= 1

  std::function<void(std::int64_t histories)> progress = {};  ///< called between launches with those done, if not empty
};

struct Outcome {
  std::vector<double> x;               ///< rows numbers
  std::vector<double> standard_error;  ///< of each of them; all NaN if there is but one group (or history)
  std::int64_t steps = 0;              ///< of all histories
  double setup_seconds = 0;            ///< memory on the device, copies to it, the start CDF (not: linear::tables)
  double generator_seconds = 0;        ///< seeding of the streams; Philox has none
  double kernel_seconds = 0;           ///< walking, drawing included
  double error_seconds = 0;            ///< means and squares of the groups
};

constexpr std::array<std::string_view, 2> names_of(Method) { return {"adjoint", "forward"}; }
constexpr std::array<std::string_view, 2> names_of(Estimator) { return {"collision", "expected"}; }
constexpr std::array<std::string_view, 2> names_of(Generator) { return {"philox", "xorwow"}; }
constexpr std::array<std::string_view, 4> names_of(Seeding) {
  return {"subsequences", "consecutive", "random", "hashed"};
}
constexpr std::array<std::string_view, 9> names_of(Load) {
  return {"plain", "ldg-h", "ldg-p", "ldg-w", "ldg-index", "ldg-all", "restricted", "cg", "cv"};
}
constexpr std::array<std::string_view, 2> names_of(Layout) { return {"arrays", "structs"}; }
constexpr std::array<std::string_view, 3> names_of(Map) { return {"entry", "history-atomic", "history-reduced"}; }

/// Estimates x. `tables` are those of H^T (adjoint) or H (forward), H and b of `scaled`. Throws InvalidInput for a
/// request outside the ranges above, tables that do not fit b, b = 0 with adjoint, 2^31 entries or more, or more memory
/// than there is; std::runtime_error if the device fails. Does not look at the spectral radii: see radius.hpp.
using Walk = Outcome(const Tables& tables, const Scaled& scaled, const Request& request, int device);

/// chi^2 per degree of freedom for the hypothesis that the first two numbers of a stream, after those that the request
/// discards, are independent: streams 0 .. streams - 1 put them into 10 x 10 cells. Expected are 1 and a standard
/// deviation of sqrt(2 / 99) = 0.14, for any number of streams; what is wrong grows with their number. In an adjoint
/// walk the two numbers choose the start and the first step. Of the request, generator, seeding, seed and discard
/// matter. Throws InvalidInput unless there are 1000 streams or more.
using PairChiSquared = double(const Request& request, std::int64_t streams, int device);

/// What a platform can do.
struct Walker {
  Walk* walk;
  PairChiSquared* pair_chi_squared;
};

}  // namespace psflip::linear

namespace psflip::cpu {
linear::Walk walk;
linear::PairChiSquared pair_chi_squared;
inline constexpr linear::Walker walker{walk, pair_chi_squared};
}  // namespace psflip::cpu

namespace psflip::gpu {
linear::Walk walk;
linear::PairChiSquared pair_chi_squared;
inline constexpr linear::Walker walker{walk, pair_chi_squared};
}  // namespace psflip::gpu
