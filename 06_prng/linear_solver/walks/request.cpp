#include "06_prng/linear_solver/walks/request.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "app/invalid_input.hpp"

namespace psflip::linear {
namespace {

template <class T>
void require(bool fine, const char* option, const T& value, const std::string& allowed) {
  if (fine) return;
  std::ostringstream message;
  message << option << " is " << value << "; it must be " << allowed;
  throw InvalidInput(message.str());
}

constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

}  // namespace

void check(const Tables& tables, const Scaled& scaled, const Request& request) {
  const std::int64_t rows = tables.base.rows;
  require(request.histories >= 1, "--histories", request.histories, "1 or more");
  require(request.method == Method::adjoint || request.histories <= std::numeric_limits<std::int64_t>::max() / most,
          "--histories", request.histories, "less than 2^32 with --method forward");
  require(request.max_steps >= 0 && request.max_steps <= most, "--max-steps", request.max_steps, "from 0 to 2^31 - 1");
  require(request.cutoff >= 0 && request.cutoff <= 1, "--cutoff", request.cutoff, "from 0 to 1");
  require(request.discard >= 0, "--discard", request.discard, "0 or more");
  require(request.batch == 1 || request.batch == 5, "--batch", request.batch, "1 or 5");
  require(request.threads >= 32 && request.threads <= 1024 && request.threads % 32 == 0, "--threads", request.threads,
          "a multiple of 32, at most 1024");
  require(request.per_thread >= 1 && request.per_thread <= 65536, "--per-thread", request.per_thread,
          "from 1 to 65536");
  require(request.groups >= 1, "--groups", request.groups, "1 or more");
  if (request.method == Method::forward && request.estimator == Estimator::expected)
    throw InvalidInput("--estimator is expected: it goes with --method adjoint only");
  const std::string load(name(request.load));
  const bool structs = request.layout == Layout::structs, other = structs || request.load != Load::plain;
  if (other && (request.generator != Generator::philox || request.batch != 1))
    throw InvalidInput((structs ? "--layout is structs" : "--load is " + load) +
                       ": it goes with --generator philox and --batch 1 only");
  if (structs && request.load != Load::plain && request.load != Load::ldg_all)
    throw InvalidInput("--load is " + load + ": with --layout structs it must be plain or ldg-all");

  if (static_cast<std::int64_t>(scaled.b.size()) != rows)
    throw InvalidInput("the tables have " + std::to_string(rows) + " rows, but b has " +
                       std::to_string(scaled.b.size()));
  if (rows < 1 || rows > most || static_cast<std::int64_t>(tables.cdf.size()) > most)
    throw InvalidInput("the matrix has " + std::to_string(rows) + " rows and " + std::to_string(tables.cdf.size()) +
                       " entries; allowed are 1 to 2^31 - 1 rows and at most 2^31 - 1 entries");
  if (request.method == Method::adjoint && std::ranges::all_of(scaled.b, [](double value) { return value == 0; }))
    throw InvalidInput("b is zero: no history has where to start");
}

Load load_of(const Request& request) {
  return request.load == Load::ldg_h && request.estimator != Estimator::expected ? Load::plain : request.load;
}

Start start_of(const std::vector<double>& b) {
  Start start;
  long double sum = 0;
  std::vector<long double> sums;
  for (const double value : b) sums.push_back(sum += std::fabs(value));
  for (const long double upto : sums) start.cdf.push_back(static_cast<double>(upto / sum));
  start.norm = static_cast<double>(sum);
  return start;
}

std::int64_t groups_of(const Request& request) { return std::min<std::int64_t>(request.groups, request.histories); }

std::int64_t part_of(std::int64_t all, std::int64_t k, std::int64_t parts) {
  return all / parts * k + std::min(k, all % parts);
}

std::int64_t histories_of_launch(const Request& request, std::int64_t rows) {
  constexpr std::int64_t streams = 1 << 24;
  if (request.method == Method::adjoint) return streams;
  const std::int64_t for_blocks =
      request.map == Map::history_reduced ? std::int64_t{request.threads} * request.per_thread : 1;
  return std::max(streams / rows, for_blocks);
}

}  // namespace psflip::linear
