// The walks against a plain loop of the host, walk for walk; against systems that can be solved by hand; against what
// the report measured. And walks with one mistake each, which say what the checks are worth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "00_cpu_reference/philox.hpp"
#include "06_prng/linear_solver/systems/system.hpp"
#include "06_prng/linear_solver/walks/request.hpp"
#include "06_prng/linear_solver/walks/seeding.hpp"
#include "06_prng/linear_solver/walks/streams.hpp"
#include "06_prng/linear_solver/walks/walk_test.hpp"
#include "06_prng/linear_solver/walks/walks.hpp"
#include "06_prng/linear_solver/walks/xorwow.hpp"
#include "app/invalid_input.hpp"
#include "gpu/device.hpp"
#include "gpu/platform_test.hpp"
#include "gpu/platforms.hpp"

namespace psflip::linear {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::HasSubstr;
using testing::Pointwise;

// ---- Systems

Csr dense(const std::vector<std::vector<double>>& rows) {
  Csr matrix;
  matrix.rows = static_cast<std::int64_t>(rows.size());
  for (const auto& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] == 0) continue;
      matrix.column.push_back(static_cast<std::int32_t>(j));
      matrix.value.push_back(row[j]);
    }
    matrix.begin.push_back(static_cast<std::int64_t>(matrix.column.size()));
  }
  return matrix;
}

Tables tables_for(const Scaled& system, Method method) {
  return tables(method == Method::adjoint ? transposed(system.h) : system.h);
}

/// By the Neumann series, summed until it stands still.
std::vector<double> solution(const Scaled& system) {
  std::vector<double> x = system.b;
  for (int i = 0; i < 20000; ++i) {
    std::vector<double> next = product(system.h, x);
    for (std::size_t k = 0; k < next.size(); ++k) next[k] += system.b[k];
    if (next == x) break;
    x = std::move(next);
  }
  return x;
}

/// Entries of both signs, rows of 0 to 4 entries, b with zeros at both ends.
Scaled ragged(int rows) {
  std::mt19937 engine(7);
  const auto random = [&](double from, double to) { return std::uniform_real_distribution<>(from, to)(engine); };
  std::vector<std::vector<double>> h(static_cast<std::size_t>(rows),
                                     std::vector<double>(static_cast<std::size_t>(rows)));
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < i % 5; ++k) h[i][engine() % h.size()] = random(-0.3, 0.2);
  std::vector<double> b;
  for (int i = 0; i < rows; ++i) b.push_back(i < 2 || i + 2 > rows ? 0 : random(-1, 2));
  return {dense(h), b};
}

// ---- The plain loop

enum class Mistake {
  none,
  weight_stays,         ///< the weight is not updated
  start_anywhere,       ///< starts at all rows alike, but weighs as if it did not
  sign_of_b_forgotten,  ///< starts with weight +||b||_1
  row_of_h_not_of_its_transpose,
  cutoff_of_unscaled_weight,  ///< |w| < cutoff in place of |w / w_0| < cutoff
  last_entry_left_out,        ///< a CDF that is short of its last entry
  stream_shared               ///< all histories draw the same numbers
};

constexpr Mistake mistakes[] = {Mistake::weight_stays,
                                Mistake::start_anywhere,
                                Mistake::sign_of_b_forgotten,
                                Mistake::row_of_h_not_of_its_transpose,
                                Mistake::cutoff_of_unscaled_weight,
                                Mistake::last_entry_left_out,
                                Mistake::stream_shared};

/// The numbers of a stream, one by one.
class Numbers {
 public:
  Numbers(const Request& request, std::int64_t stream)
      : request_(request), stream_(stream), xorwow_(xorwow_seed(request.seeding, request.seed, stream)) {
    for (int i = 0; i < request.discard; ++i) next();
  }

  double next() {
    const std::uint64_t x = word(), y = word();
    return std::ldexp(static_cast<double>(x ^ y << 21), -53) + std::ldexp(1, -54);
  }

 private:
  std::uint32_t word() {
    if (request_.generator == Generator::xorwow) return xorwow_.next();
    const auto low = [](std::uint64_t both) { return static_cast<std::uint32_t>(both); };
    const auto high = [](std::uint64_t both) { return static_cast<std::uint32_t>(both >> 32); };
    const auto number = static_cast<std::uint64_t>(stream_);
    const std::uint32_t n = n_++;
    return reference::philox4x32_10({low(number), high(number), n / 4, 1},
                                    {low(request_.seed), high(request_.seed)})[n % 4];
  }

  const Request& request_;
  std::int64_t stream_;
  Xorwow xorwow_;
  std::uint32_t n_ = 0;
};

/// Draws from |weights| / sum |weights|.
std::size_t choose(const std::vector<double>& weights, double u, bool without_last = false) {
  std::vector<double> sums;
  double sum = 0;
  for (const double weight : weights) sums.push_back(sum += std::abs(weight));
  if (without_last) sums.pop_back();
  for (std::size_t i = 0; i + 1 < sums.size(); ++i)
    if (u <= sums[i] / sum) return i;
  for (std::size_t i = sums.size(); i-- > 0;)
    if (weights[i] != 0) return i;
  return 0;
}

Outcome plain_walk(const Scaled& system, const Request& request, Mistake mistake = Mistake::none) {
  const bool adjoint = request.method == Method::adjoint;
  const Csr base = adjoint && mistake != Mistake::row_of_h_not_of_its_transpose ? transposed(system.h) : system.h;
  const std::vector<double>& b = system.b;
  const std::size_t rows = b.size();
  double norm = 0;
  for (const double value : b) norm += std::abs(value);
  Outcome outcome;
  outcome.x.resize(rows);
  for (std::int64_t history = 0; history < request.histories; ++history) {
    for (std::size_t entry = 0; entry < (adjoint ? 1 : rows); ++entry) {
      const auto stream =
          adjoint ? history : history * static_cast<std::int64_t>(rows) + static_cast<std::int64_t>(entry);
      Numbers numbers(request, mistake == Mistake::stream_shared ? 0 : stream);
      std::size_t state = entry;
      double first = 1;
      if (adjoint) {
        const double u = numbers.next();
        state = mistake == Mistake::start_anywhere ? static_cast<std::size_t>(u * static_cast<double>(rows)) % rows
                                                   : choose(b, u);
        first = b[state] < 0 && mistake != Mistake::sign_of_b_forgotten ? -norm : norm;
      }
      double weight = first;
      for (std::int64_t step = 0;; ++step) {
        const auto begin = base.begin[state], end = base.begin[state + 1];
        if (!adjoint) {
          outcome.x[entry] += weight * b[state];
        } else if (request.estimator == Estimator::collision) {
          outcome.x[state] += weight;
        } else {
          for (auto k = begin; k < end; ++k) outcome.x[base.column[k]] += weight * base.value[k];
        }
        const double scale = mistake == Mistake::cutoff_of_unscaled_weight ? 1 : std::abs(first);
        if (step == request.max_steps || std::abs(weight) / scale < request.cutoff || begin == end) break;
        const std::vector<double> row(base.value.begin() + begin, base.value.begin() + end);
        const std::size_t chosen =
            choose(row, numbers.next(), mistake == Mistake::last_entry_left_out && row.size() > 1);
        double sum = 0;
        for (const double value : row) sum += std::abs(value);
        if (mistake != Mistake::weight_stays) weight *= std::copysign(sum, row[chosen]);
        state = static_cast<std::size_t>(base.column[begin + static_cast<std::int64_t>(chosen)]);
        ++outcome.steps;
      }
    }
  }
  for (double& value : outcome.x) value /= static_cast<double>(request.histories);
  if (request.estimator == Estimator::expected)
    for (std::size_t i = 0; i < rows; ++i) outcome.x[i] += b[i];
  return outcome;
}

// ---- What a platform has

const auto& platforms() {
  static const auto all = PSFLIP_PLATFORMS(walker);
  return all;
}

class Walks : public PlatformTest<platforms> {
 protected:
  const Walker& walker() const { return *platform_->make; }
  Outcome walk(const Scaled& system, const Request& request) const {
    return walker().walk(tables_for(system, request.method), system, request, 0);
  }

  bool on_gpu() const { return GetParam() == "gpu"; }
};

double largest(const std::vector<double>& x) {
  double most = 0;
  for (const double value : x) most = std::max(most, std::abs(value));
  return most;
}

/// The same walks: all steps, and sums that differ only by their order.
bool same(const Outcome& a, const Outcome& b) {
  if (a.steps != b.steps || a.x.size() != b.x.size()) return false;
  const double tolerance = 1e-12 * largest(b.x);
  for (std::size_t i = 0; i < a.x.size(); ++i)
    if (!(std::abs(a.x[i] - b.x[i]) <= tolerance)) return false;
  return true;
}

/// How far x is from the solution, in units of what is expected: near 1 if the error is chance and nothing else.
double deviation(const Outcome& outcome, const std::vector<double>& exact) {
  double error = 0, expected = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error += (outcome.x[i] - exact[i]) * (outcome.x[i] - exact[i]);
    expected += outcome.standard_error[i] * outcome.standard_error[i];
  }
  return std::sqrt(error / expected);
}

std::vector<Request> methods() {
  std::vector<Request> all(3);
  all[1].estimator = Estimator::expected;
  all[2].method = Method::forward;
  return all;
}

std::string described(const Request& request) {
  const auto name = [](auto value) { return std::string(psflip::name(value)); };
  return name(request.method) + " " + name(request.estimator) + " " + name(request.generator) + " " +
         name(request.seeding) + " load " + name(request.load) + " layout " + name(request.layout) + " map " +
         name(request.map) + ", histories " + std::to_string(request.histories) + ", threads " +
         std::to_string(request.threads) + " x " + std::to_string(request.per_thread) + ", batch " +
         std::to_string(request.batch) + ", discard " + std::to_string(request.discard) + ", groups " +
         std::to_string(request.groups);
}

// ---- Walk for walk

TEST_P(Walks, AreThoseOfThePlainLoop) {
  const Scaled system = ragged(23);
  for (Request request : methods()) {
    for (const Generator generator : {Generator::philox, Generator::xorwow}) {
      for (const Seeding seeding : {Seeding::hashed, Seeding::random, Seeding::consecutive}) {
        if (generator == Generator::philox && seeding != Seeding::hashed) continue;
        for (const int discard : {0, 1, 4}) {
          for (const std::int64_t histories : {1, 2, 500}) {
            for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{0xfedcba9876543210}}) {
              request.generator = generator;
              request.seeding = seeding;
              request.discard = discard;
              request.histories = histories;
              request.seed = seed;
              SCOPED_TRACE(described(request));
              const Outcome expected = plain_walk(system, request), outcome = walk(system, request);
              EXPECT_EQ(outcome.steps, expected.steps);
              EXPECT_TRUE(same(outcome, expected));
            }
          }
        }
      }
    }
  }
}

TEST_P(Walks, AreThoseOfThePlainLoopOneByOne) {
  const Scaled system = ragged(23);
  for (Request request : methods()) {
    request.histories = 1;
    for (request.seed = 0; request.seed < 100; ++request.seed) {
      SCOPED_TRACE(described(request) + ", seed " + std::to_string(request.seed));
      EXPECT_TRUE(same(walk(system, request), plain_walk(system, request)));
    }
  }
}

TEST_P(Walks, DoNotDependOnLoadsLayoutsMapsAndLaunches) {
  const Scaled system = ragged(40);
  for (Request standard : methods()) {
    const bool forward = standard.method == Method::forward;
    standard.histories = forward ? 50 : 700;
    const Outcome expected = plain_walk(system, standard);
    std::vector<Request> variants;
    const auto vary = [&](auto change) { change(variants.emplace_back(standard)); };
    for (const Load load : values<Load>()) vary([&](Request& r) { r.load = load; });
    vary([](Request& r) { r.layout = Layout::structs; });
    vary([](Request& r) { r.layout = Layout::structs, r.load = Load::ldg_all; });
    vary([](Request& r) { r.batch = 5; });
    vary([](Request& r) { r.batch = 5, r.threads = 96, r.per_thread = 3; });
    vary([](Request& r) { r.threads = 32; });
    vary([](Request& r) { r.threads = 1024, r.per_thread = 2; });
    vary([](Request& r) { r.per_thread = 1000; });
    for (const int groups : {1, 2, 33}) vary([&](Request& r) { r.groups = groups; });
    if (forward) {
      const std::vector<Request> by_entry = variants;
      for (const Map map : {Map::history_atomic, Map::history_reduced})
        for (Request request : by_entry) request.map = map, variants.push_back(request);
    } else {
      for (const int groups : {700, 100000}) vary([&](Request& r) { r.groups = groups; });
    }
    for (const Request& request : variants) {
      SCOPED_TRACE(described(request));
      EXPECT_TRUE(same(walk(system, request), expected));
    }
  }
}

TEST_P(Walks, BatchesOfXorwowAreTheSameNumbers) {
  const Scaled system = ragged(23);
  for (Request request : methods()) {
    request.generator = Generator::xorwow;
    request.discard = 2;
    request.batch = 5;
    for (const Map map : {Map::entry, Map::history_atomic, Map::history_reduced}) {
      request.map = map;
      SCOPED_TRACE(described(request));
      request.histories = 300;
      EXPECT_TRUE(same(walk(system, request), plain_walk(system, request)));
    }
  }
}

// The checks above, and that for the exact solution, on walks with a mistake.
TEST_P(Walks, WithAMistakeAreRejected) {
  Scaled system = ragged(23);
  for (double& value : system.b) value *= 1e3;  // so that w_0 is not nearly 1
  const std::vector<double> exact = solution(system);
  Request request;
  request.histories = 20000;
  request.cutoff = 1e-2;
  const Outcome right = walk(system, request);
  EXPECT_TRUE(same(right, plain_walk(system, request)));
  for (const Mistake mistake : mistakes) {
    SCOPED_TRACE(static_cast<int>(mistake));
    EXPECT_FALSE(same(plain_walk(system, request, mistake), right));
  }
  request.cutoff = 1e-9;
  Outcome outcome = walk(system, request);
  EXPECT_LT(deviation(outcome, exact), 2);
  for (const Mistake mistake : mistakes) {
    if (mistake == Mistake::cutoff_of_unscaled_weight) continue;  // right, only slower
    SCOPED_TRACE(static_cast<int>(mistake));
    request.max_steps = 1000;
    outcome.x = plain_walk(system, request, mistake).x;
    EXPECT_GT(deviation(outcome, exact), 4);
  }
}

// ---- By hand

TEST_P(Walks, SolveADiagonalSystemWithoutAStep) {
  const Scaled system = scaled({dense({{2, 0, 0, 0}, {0, -4, 0, 0}, {0, 0, 0.5, 0}, {0, 0, 0, 1}}), {6, 2, 0, -1}});
  for (const Request& request : methods()) {
    const Outcome outcome = walk(system, request);
    EXPECT_EQ(outcome.steps, 0);
    if (request.method == Method::adjoint && request.estimator == Estimator::collision) {
      // +-||b||_1 = 4.5 times how often a history started there: binomial.
      EXPECT_NEAR(outcome.x[0], 3, 5 * 4.5 * std::sqrt(3 / 4.5 * 1.5 / 4.5 / 1e4));
      EXPECT_NEAR(outcome.x[0] - outcome.x[1] - outcome.x[3], 4.5, 1e-12);
      EXPECT_EQ(outcome.x[2], 0);
      EXPECT_NEAR(outcome.standard_error[0], 4.5 * std::sqrt(3 / 4.5 * 1.5 / 4.5 / 1e4), 0.015);
      EXPECT_EQ(outcome.standard_error[2], 0);
    } else {
      EXPECT_THAT(outcome.x, Pointwise(DoubleNear(1e-13), {3., -0.5, 0., -1.}));
      EXPECT_THAT(outcome.standard_error, Each(DoubleNear(0, 1e-13)));
    }
  }
}

// From each row there is but one way. 16 / 7 and 18 / 7 by Cramer's rule. The weight is 1/2 or 1/4 after a step, 1/8
// after two; (1/8)^10 is the first below 1e-9.
TEST_P(Walks, SolveA2x2SystemOfOneWay) {
  const Scaled system = {dense({{0, 0.5}, {0.25, 0}}), {1, 2}};
  for (Request request : methods()) {
    request.histories = 100;
    const Outcome outcome = walk(system, request);
    EXPECT_EQ(outcome.steps, 20 * 100 * (request.method == Method::forward ? 2 : 1));
    if (request.method != Method::forward) continue;
    EXPECT_THAT(outcome.x, Pointwise(DoubleNear(1e-8), {16. / 7, 18. / 7}));
    EXPECT_THAT(outcome.standard_error, Each(DoubleNear(0, 1e-13)));
  }
}

// Two ways from each row, one of them with a change of sign; the weight halves at each step, and 2^-30 is the first
// below 1e-9. x = (16, 28) / 11 by Cramer's rule: det(I - H) = 0.7 * 0.6 + 0.2 * 0.1 = 0.44, (0.6 - 0.2 * 2 ...) /
// 0.44.
TEST_P(Walks, SolveA2x2SystemOfTwoWays) {
  const Scaled system = {dense({{0.3, -0.2}, {0.1, 0.4}}), {2, 1}};
  const std::vector<double> exact = {(2 * 0.6 - 0.2 * 1) / 0.44, (0.7 * 1 + 0.1 * 2) / 0.44};
  for (Request request : methods()) {
    request.histories = 100000;
    const Outcome outcome = walk(system, request);
    if (request.method == Method::forward) {
      EXPECT_EQ(outcome.steps, 30 * 100000 * 2);
    }
    for (int i = 0; i < 2; ++i) {
      EXPECT_NEAR(outcome.x[i], exact[i], 5 * outcome.standard_error[i]);
      EXPECT_GT(outcome.standard_error[i], 1e-4);
      EXPECT_LT(outcome.standard_error[i], 2e-2);
    }
  }
}

TEST_P(Walks, SolveASystemOfOneRow) {
  const Scaled system = scaled({dense({{-4}}), {2}});
  for (const Request& request : methods()) EXPECT_THAT(walk(system, request).x, Pointwise(DoubleNear(1e-14), {-0.5}));
}

// ---- Steps

// 0.8^93 is the first power below 1e-9, and rows lose weight in no other way if they are far from the ends.
TEST_P(Walks, TakeExactly93StepsInOneDimension) {
  Scaled system = scaled({lap1d(401, 0.5), sine(401)});
  Request request;
  request.histories = 3000;
  system.b.assign(401, 0);
  system.b[200] = -3;  // 93 steps do not reach an end
  EXPECT_EQ(walk(system, request).steps, 93 * 3000);
  request.estimator = Estimator::expected;
  EXPECT_EQ(walk(system, request).steps, 93 * 3000);
}

TEST_P(Walks, TakeAsManyStepsAsTheyMay) {
  const Scaled system = scaled({lap2d(5, 4), ones(20)});
  for (Request request : methods()) {
    request.histories = 50;
    request.cutoff = 0;
    for (const std::int64_t steps : {0, 1, 2, 777}) {
      request.max_steps = steps;
      EXPECT_EQ(walk(system, request).steps, steps * 50 * (request.method == Method::forward ? 20 : 1));
    }
  }
  Request request;
  request.cutoff = 1;  // below 1 after the first step that loses something
  request.histories = 10;
  EXPECT_EQ(walk(scaled({lap1d(101, 0.5), ones(101)}), request).steps, 10);
}

// ---- Accuracy

// The error of the mean, over seeds, falls as 1 / sqrt(M); the standard error says how large it is.
TEST_P(Walks, ErrorsFallWithTheSquareRootOfTheHistories) {
  const Scaled system = scaled({lap2d(5, 5), ones(25)});
  const std::vector<double> exact = solution(system);
  for (Request request : methods()) {
    SCOPED_TRACE(described(request));
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    const int sizes = 4, seeds = 8;
    for (int i = 0; i < sizes; ++i) {
      request.histories = (request.method == Method::forward ? 4 : 100) << 2 * i;
      double squares = 0, expected = 0;
      for (int seed = 0; seed < seeds; ++seed) {
        request.seed = static_cast<std::uint64_t>(1000 * i + seed);
        const Outcome outcome = walk(system, request);
        squares += std::pow(relative_error(outcome.x, exact), 2) / seeds;
        expected += std::pow(norm(outcome.standard_error) / norm(exact), 2) / seeds;
      }
      EXPECT_NEAR(std::sqrt(squares / expected), 1, 0.35) << request.histories << " histories";
      const double x = std::log(static_cast<double>(request.histories)), y = std::log(squares) / 2;
      sum_x += x, sum_y += y, sum_xx += x * x, sum_xy += x * y;
    }
    const double slope = (sizes * sum_xy - sum_x * sum_y) / (sizes * sum_xx - sum_x * sum_x);
    EXPECT_NEAR(slope, -0.5, 0.1);
  }
}

TEST_P(Walks, HaveNoStandardErrorFromOneGroup) {
  Request request;
  const Scaled system = scaled({lap2d(3, 3), ones(9)});
  request.groups = 1;
  for (const double error : walk(system, request).standard_error) EXPECT_TRUE(std::isnan(error));
  request.groups = 16;
  request.histories = 1;
  for (const double error : walk(system, request).standard_error) EXPECT_TRUE(std::isnan(error));
}

// Residuals of the adjoint method with the collision estimator and a good generator, beside those of the issue: the
// errors are chance, so a residual for M histories is sqrt(N / M) times that for N.
TEST_P(Walks, LeaveTheKnownResiduals) {
  const Scaled line = scaled({lap1d(1'000'000, 0.5), sine(1'000'000)});
  const Tables line_tables = tables_for(line, Method::adjoint);
  Request request;
  request.histories = 9984;
  const Outcome outcome = walker().walk(line_tables, line, request, 0);
  EXPECT_NEAR(residual(line, outcome.x), 12.39, 0.15);
  EXPECT_EQ(outcome.steps, 93 * 9984);

  const Scaled square = scaled({lap2d(30, 30), ones(900)});
  request.histories = on_gpu() ? 1'000'000 : 40'000;
  const double scale = std::sqrt(1e6 / static_cast<double>(request.histories));
  const Outcome in_two_dimensions = walk(square, request);
  EXPECT_NEAR(residual(square, in_two_dimensions.x), 0.292 * scale, 0.03 * scale);
  EXPECT_NEAR(static_cast<double>(in_two_dimensions.steps) / static_cast<double>(request.histories), 836, 10);

  if (!on_gpu()) return;
  request.histories = 10'000'000;
  EXPECT_NEAR(residual(line, walker().walk(line_tables, line, request, 0).x), 0.3912, 0.001);
  EXPECT_NEAR(residual(square, walk(square, request).x), 0.091, 0.003);
  request.generator = Generator::xorwow;
  request.seeding = Seeding::consecutive;
  EXPECT_NEAR(residual(line, walker().walk(line_tables, line, request, 0).x), 0.408, 0.01);
}

// ---- Seeding

TEST_P(Walks, FirstTwoNumbersOfBadSeedsDependOnEachOther) {
  const std::int64_t streams = 1'000'000;
  const auto chi_squared = [&](Generator generator, Seeding seeding, int discard) {
    Request request;
    request.generator = generator;
    request.seeding = seeding;
    request.discard = discard;
    return walker().pair_chi_squared(request, streams, 0);
  };
  const auto independent = testing::AllOf(testing::Gt(1 - 5 * 0.142), testing::Lt(1 + 5 * 0.142));
  // 32 bits are too few, whether they are consecutive or random. The cure is one number, or the other 32 bits.
  EXPECT_GT(chi_squared(Generator::xorwow, Seeding::consecutive, 0), 3);
  EXPECT_GT(chi_squared(Generator::xorwow, Seeding::random, 0), 3);
  EXPECT_THAT(chi_squared(Generator::xorwow, Seeding::consecutive, 1), independent);
  EXPECT_THAT(chi_squared(Generator::xorwow, Seeding::random, 1), independent);
  EXPECT_THAT(chi_squared(Generator::xorwow, Seeding::hashed, 0), independent);
  EXPECT_THAT(chi_squared(Generator::philox, Seeding::hashed, 0), independent);
#if PSFLIP_HAS_CURAND
  if (on_gpu()) {
    EXPECT_THAT(chi_squared(Generator::xorwow, Seeding::subsequences, 0), independent);
  }
#endif
}

#if PSFLIP_HAS_CURAND
TEST_P(Walks, SubsequencesAreCurands) {
  if (!on_gpu()) GTEST_SKIP() << "subsequences are seeded on a GPU";
  const int count = 500;
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{12345}, std::int64_t{1} << 40}) {
    const std::vector<std::uint32_t> words = subsequence_words(42, first, 3, count);
    for (int id = 0; id < 3; ++id) {
      const auto begin = words.begin() + id * count;
      EXPECT_EQ(curand_words(42, static_cast<std::uint64_t>(first + id), count),
                std::vector<std::uint32_t>(begin, begin + count));
    }
  }
}
#endif

// ---- Everything else

TEST_P(Walks, TellOfTheirProgress) {
  Request request;
  request.histories = 1001;
  request.groups = 10;
  std::vector<std::int64_t> told;
  request.progress = [&](std::int64_t done) { told.push_back(done); };
  const Outcome outcome = walk(scaled({lap2d(3, 3), ones(9)}), request);
  EXPECT_THAT(told, testing::ElementsAre(101, 201, 301, 401, 501, 601, 701, 801, 901, 1001));
  EXPECT_GT(outcome.kernel_seconds, 0);
  EXPECT_GT(outcome.setup_seconds, 0);
  EXPECT_EQ(outcome.generator_seconds, 0);
  request.generator = Generator::xorwow;
  EXPECT_GT(walk(scaled({lap2d(3, 3), ones(9)}), request).generator_seconds, 0);
}

TEST_P(Walks, RefuseWhatTheyCannotDo) {
  const Scaled system = scaled({lap2d(3, 3), ones(9)});
  const auto refusal = [&](auto change) -> std::string {
    Request request;
    change(request);
    try {
      walk(system, request);
    } catch (const InvalidInput& refused) {
      return refused.what();
    }
    return "not refused";
  };
  EXPECT_THAT(refusal([](Request& r) { r.histories = 0; }), HasSubstr("--histories is 0"));
  EXPECT_THAT(refusal([](Request& r) { r.histories = INT64_MAX, r.method = Method::forward; }),
              HasSubstr("--histories"));
  EXPECT_THAT(refusal([](Request& r) { r.max_steps = -1; }), HasSubstr("--max-steps is -1"));
  EXPECT_THAT(refusal([](Request& r) { r.max_steps = std::int64_t{1} << 31; }), HasSubstr("--max-steps is 2147483648"));
  EXPECT_THAT(refusal([](Request& r) { r.cutoff = -1e-9; }), HasSubstr("--cutoff is -1e-09"));
  EXPECT_THAT(refusal([](Request& r) { r.cutoff = 1.5; }), HasSubstr("--cutoff is 1.5"));
  EXPECT_THAT(refusal([](Request& r) { r.cutoff = NAN; }), HasSubstr("--cutoff is nan"));
  EXPECT_THAT(refusal([](Request& r) { r.discard = -1; }), HasSubstr("--discard is -1"));
  EXPECT_THAT(refusal([](Request& r) { r.batch = 4; }), HasSubstr("--batch is 4"));
  for (const int threads : {0, 48, 1056})
    EXPECT_THAT(refusal([&](Request& r) { r.threads = threads; }), HasSubstr("--threads is"));
  EXPECT_THAT(refusal([](Request& r) { r.per_thread = 0; }), HasSubstr("--per-thread is 0"));
  EXPECT_THAT(refusal([](Request& r) { r.per_thread = 65537; }), HasSubstr("--per-thread is 65537"));
  EXPECT_THAT(refusal([](Request& r) { r.groups = 0; }), HasSubstr("--groups is 0"));
  EXPECT_THAT(refusal([](Request& r) { r.method = Method::forward, r.estimator = Estimator::expected; }),
              HasSubstr("--estimator is expected"));
  EXPECT_THAT(refusal([](Request& r) { r.load = Load::ldg_p, r.generator = Generator::xorwow; }),
              HasSubstr("--load is ldg-p"));
  EXPECT_THAT(refusal([](Request& r) { r.load = Load::cv, r.batch = 5; }), HasSubstr("--load is cv"));
  EXPECT_THAT(refusal([](Request& r) { r.layout = Layout::structs, r.load = Load::cg; }), HasSubstr("--load is cg"));
  EXPECT_THAT(refusal([](Request& r) { r.layout = Layout::structs, r.batch = 5; }), HasSubstr("--layout is structs"));
  if (!on_gpu()) {
    EXPECT_THAT(refusal([](Request& r) { r.generator = Generator::xorwow, r.seeding = Seeding::subsequences; }),
                HasSubstr("--seeding is subsequences"));
  }
  EXPECT_EQ(refusal([](Request&) {}), "not refused");

  Scaled wrong = system;
  wrong.b.pop_back();
  EXPECT_THROW(walker().walk(tables(system.h), wrong, {}, 0), InvalidInput);
  wrong.b.assign(9, 0);
  EXPECT_THROW(walk(wrong, {}), InvalidInput);
  Request few;
  EXPECT_THROW(walker().pair_chi_squared(few, 999, 0), InvalidInput);
}

INSTANTIATE_TEST_SUITE_P(Walks, Walks, testing::ValuesIn(names_of(platforms())), by_name);

// ---- XORWOW, on the host

// This seed cancels cuRAND's salt and leaves the state with which Marsaglia published the generator.
TEST(XorwowReference, IsMarsaglias) {
  Xorwow generator(0xf7dcefddaad26b49);
  for (const std::uint32_t word : {246875399U, 3690007200U, 1264581005U, 3906711041U, 1866187943U, 2481925219U})
    EXPECT_EQ(generator.next(), word);
}

// Words 1, 2, 3 and 1000 of curand() after curand_init(seed, 0, 0), from CUDA 13.0.
TEST(XorwowReference, IsSeededAsCurandSeedsIt) {
  struct Known {
    std::uint64_t seed;
    std::array<std::uint32_t, 4> words;
  };
  for (const Known& known : {Known{0, {3179217846, 1883133293, 2220552389, 312342528}},
                             Known{1, {2898200796, 3111669439, 2179589753, 2100715369}},
                             Known{42, {300737663, 2363150160, 799977142, 2735328478}},
                             Known{0x123456789abcdef0, {659909570, 1683698917, 4246992159, 180006999}}}) {
    Xorwow generator(known.seed);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(generator.next(), known.words[i]);
    for (int i = 3; i < 999; ++i) generator.next();
    EXPECT_EQ(generator.next(), known.words[3]);
  }
  EXPECT_EQ(XorwowStreams::Stream(Xorwow(42)).next(), 0.55021380619213289);  // curand_uniform_double
}

TEST(XorwowReference, SeedsAreAsTheyAreNamed) {
  EXPECT_EQ(xorwow_seed(Seeding::consecutive, 42, 7), 49U);
  EXPECT_EQ(xorwow_seed(Seeding::consecutive, 0xffffffff, 1), 0U);
  std::uint64_t ones = 0;
  for (int i = 0; i < 100; ++i) {
    EXPECT_LE(xorwow_seed(Seeding::random, 42, i), 0xffffffffU);
    ones |= xorwow_seed(Seeding::hashed, 42, i);
  }
  EXPECT_EQ(ones, ~std::uint64_t{0});
}

TEST(UniformNumbers, AreAbove0AndAtMost1) {
  EXPECT_EQ(uniform(0, 0), 0x1p-54);
  EXPECT_EQ(uniform(0x1fffff, 0xffffffff), 1);  // the largest, 1 - 2^-54, is rounded
  EXPECT_EQ(uniform(1, 0), 0x3p-54);
  EXPECT_EQ(uniform(0, 0x40000000), 0.25 + 0x1p-54);
}

TEST(StartDistribution, EndsWith1WhateverIsRounded) {
  const Start start = start_of({0, 0.1, -0.2, 0.3, 0, 1e-20, 0});
  EXPECT_THAT(start.cdf, testing::ElementsAre(0, testing::DoubleEq(1. / 6), testing::DoubleEq(0.5), 1, 1, 1, 1));
  EXPECT_DOUBLE_EQ(start.norm, 0.6);
}

TEST(Parts, AreAllOfTheHistories) {
  for (const std::int64_t all : {1, 7, 16, 1001}) {
    for (const std::int64_t parts : {1, 2, 7}) {
      EXPECT_EQ(part_of(all, 0, parts), 0);
      EXPECT_EQ(part_of(all, parts, parts), all);
      for (std::int64_t k = 0; k < parts; ++k) {
        const std::int64_t size = part_of(all, k + 1, parts) - part_of(all, k, parts);
        EXPECT_TRUE(size == all / parts || size == all / parts + 1);
      }
    }
  }
}

#if PSFLIP_HAS_CURAND
TEST(XorwowReference, IsCurands) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xffffffff}, ~std::uint64_t{0}}) {
    Xorwow generator(seed);
    for (const std::uint32_t word : curand_words(seed, 0, 10000)) ASSERT_EQ(generator.next(), word);
    XorwowStreams::Stream stream{Xorwow(seed)};
    for (const double number : curand_numbers(seed, 0, 10000)) ASSERT_EQ(stream.next(), number);
  }
}

#endif

}  // namespace
}  // namespace psflip::linear
