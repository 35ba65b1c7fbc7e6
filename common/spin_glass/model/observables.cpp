#include "spin_glass/model/observables.hpp"

#include <algorithm>
#include <cstddef>

#include "app/state_hash.hpp"

namespace psflip::spin_glass {
namespace {

/// The sum of f(i), small numbers, over 0 <= i < count. Parts of it fit into an int, which the compiler can vectorise.
template <class F>
std::int64_t sum(std::size_t count, F f) {
  constexpr std::size_t part = 1 << 16;
  std::int64_t total = 0;
  for (std::size_t first = 0; first < count; first += part) {
    const std::size_t last = std::min(first + part, count);
    int partial = 0;
    for (std::size_t i = first; i < last; ++i) {
      partial += f(i);
    }
    total += partial;
  }
  return total;
}

}  // namespace

std::int64_t energy(std::int64_t size, std::span<const Spin> spins, std::span<const Coupling> couplings) {
  const auto row = [&](std::int64_t y, std::int64_t z) { return &spins[size * (y + size * z)]; };
  std::int64_t satisfied_less_unsatisfied = 0;
  for (std::int64_t z = 0; z < size; ++z) {
    for (std::int64_t y = 0; y < size; ++y) {
      const Spin* const here = row(y, z);
      const Spin* const behind = row((y + 1) % size, z);
      const Spin* const above = row(y, (z + 1) % size);
      const Coupling* const j = &couplings[3 * size * (y + size * z)];
      const auto bonds_of = [&](std::int64_t x, Spin right) {
        return here[x] * (j[3 * x] * right + j[3 * x + 1] * behind[x] + j[3 * x + 2] * above[x]);
      };
      int in_row = bonds_of(size - 1, here[0]);
      for (std::int64_t x = 0; x < size - 1; ++x) {
        in_row += bonds_of(x, here[x + 1]);
      }
      satisfied_less_unsatisfied += in_row;
    }
  }
  return -satisfied_less_unsatisfied;
}

std::int64_t magnetisation(std::span<const Spin> spins) {
  return sum(spins.size(), [&](std::size_t i) { return spins[i]; });
}

std::int64_t overlap(std::span<const Spin> a, std::span<const Spin> b) {
  return sum(a.size(), [&](std::size_t i) { return a[i] * b[i]; });
}

std::vector<std::int64_t> overlap_correlations(std::int64_t size, std::span<const Spin> a, std::span<const Spin> b) {
  std::vector<Spin> q(a.size());
  for (std::size_t i = 0; i < q.size(); ++i) {
    q[i] = static_cast<Spin>(a[i] * b[i]);
  }
  std::vector<std::int64_t> result(distances(size));
  const auto area = static_cast<std::size_t>(size * size);
  // Sites that lie r apart along z, y or x are r planes, rows or sites apart, or as many less L at the boundary.
  const auto product = [](const Spin* here, const Spin* there, std::size_t count) {
    return sum(count, [=](std::size_t i) { return here[i] * there[i]; });
  };
  for (std::int64_t r = 0; r <= size / 2; ++r) {
    std::int64_t total = 0;
    for (std::int64_t z = 0; z < size; ++z) {
      const Spin* const plane = &q[z * area];
      total += product(plane, &q[(z + r) % size * area], area);
      total += product(plane, plane + r * size, (size - r) * size);
      total += product(plane + (size - r) * size, plane, r * size);
      for (std::int64_t y = 0; y < size; ++y) {
        const Spin* const row = plane + y * size;
        total += product(row, row + r, size - r) + product(row + size - r, row, r);
      }
    }
    result[r] = total;
  }
  return result;
}

namespace {

/// What a ladder measures besides of the overlap q(x) of two replicas.
void observe_field(std::int64_t size, std::span<const Spin> a, std::span<const Spin> b,
                   SampleObservables& observables) {
  std::vector<Spin> q(a.size());
  std::vector<std::int64_t> planes(3 * size);
  for (std::int64_t s = 0; s < std::ssize(q); ++s) {
    q[s] = static_cast<Spin>(a[s] * b[s]);
    if (q[s] > 0) continue;
    ++planes[s % size];
    ++planes[size + s / size % size];
    ++planes[2 * size + s / (size * size)];
  }
  observables.links.push_back(-energy(size, q, std::vector<Coupling>(3 * q.size(), 1)));
  observables.planes.insert(observables.planes.end(), planes.begin(), planes.end());
}

}  // namespace

SampleObservables observe(const State& state, std::int64_t sample, std::span<const Coupling> couplings,
                          bool correlations) {
  SampleObservables result;
  for (std::int64_t a = 0; a < state.replicas; ++a) {
    const std::span<const Spin> spins = state.of(sample, a);
    result.energies.push_back(energy(state.size, spins, couplings));
    result.magnetisations.push_back(magnetisation(spins));
  }
  const std::int64_t n = state.temperatures, copies = state.replicas / n;
  for (std::int64_t a = 0; a < copies; ++a) {
    for (std::int64_t b = a + 1; b < copies; ++b) {
      for (std::int64_t t = 0; t < n; ++t) {
        const std::span<const Spin> spins = state.of(sample, a * n + t), others = state.of(sample, b * n + t);
        result.overlaps.push_back(overlap(spins, others));
        if (n > 1) observe_field(state.size, spins, others, result);
        if (correlations) {
          const std::vector<std::int64_t> sums = overlap_correlations(state.size, spins, others);
          result.correlations.insert(result.correlations.end(), sums.begin(), sums.end());
        }
      }
    }
  }
  return result;
}

std::uint64_t state_hash(const State& state) {
  StateHash hash;
  hash.add(state.spins);
  return hash.value();
}

std::int64_t numbers_of_sample(const Problem& problem, bool correlations) {
  return 2 * problem.replicas + overlaps(problem) * (correlations ? 1 + distances(problem.size) : 1);
}

SampleObservables sample_of(const Problem& problem, std::span<const std::int64_t> numbers) {
  const auto next = [&](std::int64_t count) {
    const auto part = numbers.first(static_cast<std::size_t>(count));
    numbers = numbers.subspan(part.size());
    return std::vector<std::int64_t>(part.begin(), part.end());
  };
  SampleObservables sample;
  sample.energies = next(problem.replicas);
  sample.magnetisations = next(problem.replicas);
  sample.overlaps = next(overlaps(problem));
  sample.correlations = next(std::ssize(numbers));
  return sample;
}

std::uint64_t couplings_hash(const Problem& problem) {
  StateHash hash;
  for (std::int64_t sample = 0; sample < problem.samples; ++sample) hash.add(sample_couplings(problem, sample));
  return hash.value();
}

}  // namespace psflip::spin_glass
