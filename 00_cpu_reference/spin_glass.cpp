// Stage 00, 3D spin glass: Metropolis, as it would be told to someone.
//
// Go through the sites of one colour, then of the other. For every site, take the next number of its random stream,
// once per replica. In every sample of the stream's group, count the unsatisfied bonds of the site and flip the spin if
// that lowers the energy, or if the number says so. Nothing here is fast; everything here is plainly right, and so it
// is what every later stage is compared with, bit for bit.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "00_cpu_reference/mt19937_history.hpp"
#include "00_cpu_reference/parisi_rapuano.hpp"
#include "00_cpu_reference/philox.hpp"
#include "00_cpu_reference/philox_planes.hpp"
#include "app/host.hpp"
#include "app/invalid_input.hpp"
#include "random/streams.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/exchange.hpp"

namespace psflip::reference {
namespace {

using namespace spin_glass;

// ---- One random stream. draw(n) gives its n-th number; the others count for themselves and leave n alone. history()
// is the state that a checkpoint takes (simulation.hpp), and set_history() puts the stream there.

struct MinstdStream {
  static constexpr int words = 1;
  std::minstd_rand0 engine;
  MinstdStream(const Problem& problem, std::int64_t group, std::int64_t site)
      : engine(static_cast<std::uint32_t>(1 + stream_seed(origin(problem), group, site) % 0x7ffffffe)) {}
  std::uint32_t draw(std::int64_t) { return static_cast<std::uint32_t>(engine()) - 1; }  // 0 .. 2^31 - 3
  std::array<std::uint32_t, 1> history() const {
    std::minstd_rand0 copy = engine;  // an engine shows its state only as text, but its next number is 16807 times that
    constexpr std::uint64_t inverse = 1407677000;  // of 16807: their product is 1 modulo 2^31 - 1
    return {static_cast<std::uint32_t>(copy() * inverse % copy.modulus)};
  }
  void set_history(const std::vector<std::uint32_t>& state) { engine.seed(state[0]); }
};

struct Mt19937Stream {
  static constexpr int words = 624;
  std::mt19937 engine;
  Mt19937Stream(const Problem& problem, std::int64_t group, std::int64_t site)
      : engine(static_cast<std::uint32_t>(stream_seed(origin(problem), group, site))) {}
  std::uint32_t draw(std::int64_t) { return static_cast<std::uint32_t>(engine()); }
  std::vector<std::uint32_t> history() const { return history_of(engine); }
  void set_history(const std::vector<std::uint32_t>& state) { engine = with_history(state); }
};

struct ParisiRapuanoStream {
  static constexpr int words = 61;
  ParisiRapuano engine;
  ParisiRapuanoStream(const Problem& problem, std::int64_t group, std::int64_t site)
      : engine(ParisiRapuano::seeded(stream_seed(origin(problem), group, site))) {}
  std::uint32_t draw(std::int64_t) { return engine(); }
  const std::deque<std::uint32_t>& history() const { return engine.history(); }
  void set_history(const std::vector<std::uint32_t>& state) {
    engine = ParisiRapuano([next = state.begin()]() mutable { return *next++; });
  }
};

struct PhiloxStream {  // no state: key = seed, counter = (site, group, n / 4, 0), word n mod 4
  static constexpr int words = 0;
  std::uint64_t seed;
  std::uint32_t group, site;
  PhiloxStream(const Problem& problem, std::int64_t group_, std::int64_t site_)
      : seed(problem.seed),
        group(static_cast<std::uint32_t>(origin(problem).group + group_)),
        site(static_cast<std::uint32_t>(site_)) {}
  std::uint32_t draw(std::int64_t n) const {
    const std::array key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
    return philox4x32_10({site, group, static_cast<std::uint32_t>(n / 4), 0}, key)[n % 4];
  }
  std::array<std::uint32_t, 0> history() const { return {}; }
  void set_history(const std::vector<std::uint32_t>&) {}
};

struct PhiloxPlanesStream {  // no state; a group is a sample
  static constexpr int words = 0;
  PhiloxPlanes draws;
  PlanePlace place;
  std::int64_t replicas;
  PhiloxPlanesStream(const Problem& problem, std::int64_t group, std::int64_t site)
      : draws{problem.seed, static_cast<std::uint32_t>(problem.first_sample + group)},
        place(plane_place(problem.size, site)),
        replicas(problem.replicas) {}
  std::uint32_t draw(std::int64_t n) const {
    return draws.draw(place, static_cast<std::uint32_t>(n % replicas), static_cast<std::uint32_t>(n / replicas));
  }
  static bool accepts(std::uint32_t draw, std::uint32_t threshold) { return PhiloxPlanes::accepts(draw, threshold); }
  std::array<std::uint32_t, 0> history() const { return {}; }
  void set_history(const std::vector<std::uint32_t>&) {}
};

template <class Stream>
bool accepts(const Stream&, std::uint32_t draw, std::uint32_t threshold) {
  if constexpr (requires { Stream::accepts(draw, threshold); })
    return Stream::accepts(draw, threshold);
  else
    return draw < threshold;
}

// ---- The model

template <class Stream>
class SpinGlass : public Simulation, public Resumable {
 public:
  explicit SpinGlass(const Problem& problem)
      : problem_(problem), thresholds_(thresholds(problem)), exchange_thresholds_(problem) {
    for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
      couplings_.push_back(sample_couplings(problem, sample));
    }
    problem_.given_couplings.reset();
    restart();
  }

  void restart() override {
    spins_.clear();
    for (std::int64_t sample = 0; sample < problem_.samples; ++sample) {
      for (std::int64_t replica = 0; replica < problem_.replicas; ++replica) {
        spins_.push_back(start_spins(problem_, sample, replica));
      }
    }
    streams_.clear();
    for (std::int64_t group = 0; group < groups(problem_); ++group) {
      for (std::int64_t site = 0; site < sites(problem_); ++site) {
        streams_.emplace_back(problem_, group, site);
      }
    }
    walkers_ = first_walkers(problem_);
    accepted_.assign(walkers_.size(), 0);
    half_sweeps_done_ = 0;
  }

  double advance(std::int64_t half_sweeps) override {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < half_sweeps; ++i) {
      update(half_sweeps_done_ % 2, half_sweeps_done_ / 2);
      ++half_sweeps_done_;
      if (const auto number = exchange_after(problem_.ladder, half_sweeps_done_)) exchange(*number);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  State state() const override {
    State state{problem_.size, problem_.samples, problem_.replicas, {}, temperatures(problem_), exchanges()};
    state.spins.reserve(spins_.size() * static_cast<std::size_t>(sites(problem_)));
    for (const std::vector<Spin>& lattice : spins_) {
      state.spins.insert(state.spins.end(), lattice.begin(), lattice.end());
    }
    return state;
  }

  Exchanges exchanges() const override { return {accepted_, walkers_}; }

  std::int64_t half_sweeps() const override { return half_sweeps_done_; }

  int stream_words() const override { return Stream::words; }

  void save_streams(const TakeWord& take) const override {
    std::vector<std::vector<std::uint32_t>> words(Stream::words, std::vector<std::uint32_t>(streams_.size()));
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
      std::size_t i = 0;
      for (const std::uint32_t word : streams_[stream].history()) {
        words[i++][stream] = word;
      }
    }
    for (const std::vector<std::uint32_t>& word : words) {
      take(word);
    }
  }

  void resume(std::int64_t half_sweeps, const State& state, const GiveWord& give) override {
    check_resumed(problem_, half_sweeps, state);
    for (std::int64_t lattice = 0; lattice < std::ssize(spins_); ++lattice) {
      const std::span<const Spin> spins = state.of(lattice / problem_.replicas, lattice % problem_.replicas);
      spins_[lattice].assign(spins.begin(), spins.end());
    }
    std::vector<std::vector<std::uint32_t>> words(Stream::words, std::vector<std::uint32_t>(streams_.size()));
    for (std::vector<std::uint32_t>& word : words) {
      give(word);
    }
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
      std::vector<std::uint32_t> history;
      for (const std::vector<std::uint32_t>& word : words) {
        history.push_back(word[stream]);
      }
      streams_[stream].set_history(history);
    }
    accepted_ = state.exchanges.accepted;
    walkers_ = state.exchanges.walkers;
    half_sweeps_done_ = half_sweeps;
  }

  Launch launch() const override { return {}; }

  double bytes_per_flip() const override {
    const double couplings_and_stream = 6 * sizeof(Coupling) + 2 * sizeof(Stream);
    return 3 + couplings_and_stream / static_cast<double>(problem_.replicas);
  }

 private:
  /// Updates the sites with x + y + z even (red, colour 0) or odd (blue, 1).
  void update(std::int64_t colour, std::int64_t sweep) {
    const std::int64_t size = problem_.size;
    for (std::int64_t group = 0; group < groups(problem_); ++group) {
      for (std::int64_t z = 0; z < size; ++z) {
        for (std::int64_t y = 0; y < size; ++y) {
          for (std::int64_t x = (y + z + colour) % 2; x < size; x += 2) {
            update_site(group, x, y, z, sweep);
          }
        }
      }
    }
  }

  void update_site(std::int64_t group, std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t sweep) {
    const std::int64_t size = problem_.size;
    const auto number = [size](std::int64_t a, std::int64_t b, std::int64_t c) { return a + size * (b + size * c); };
    const std::int64_t site = number(x, y, z);
    const std::int64_t right = number((x + 1) % size, y, z), left = number((x - 1 + size) % size, y, z);
    const std::int64_t behind = number(x, (y + 1) % size, z), before = number(x, (y - 1 + size) % size, z);
    const std::int64_t above = number(x, y, (z + 1) % size), below = number(x, y, (z - 1 + size) % size);

    Stream& stream = streams_[group * sites(problem_) + site];
    const std::int64_t first = group * problem_.samples_per_stream;
    const std::int64_t last = std::min(first + problem_.samples_per_stream, problem_.samples);
    for (std::int64_t replica = 0; replica < problem_.replicas; ++replica) {
      const std::uint32_t draw = stream.draw(sweep * problem_.replicas + replica);
      for (std::int64_t sample = first; sample < last; ++sample) {
        const std::vector<Coupling>& coupling = couplings_[sample];
        std::vector<Spin>& spin = spins_[sample * problem_.replicas + replica];
        // The field of the neighbours. The bond to the left, say, is the left neighbour's bond in direction +x.
        const int field = coupling[3 * site + 0] * spin[right] + coupling[3 * left + 0] * spin[left] +
                          coupling[3 * site + 1] * spin[behind] + coupling[3 * before + 1] * spin[before] +
                          coupling[3 * site + 2] * spin[above] + coupling[3 * below + 2] * spin[below];
        const int energy_of_a_flip = 2 * spin[site] * field;  // -12, -8, ..., 12
        const int unsatisfied = (12 - energy_of_a_flip) / 4;
        if (energy_of_a_flip <= 0 || accepts(stream, draw, thresholds_[replica].of[unsatisfied])) {
          spin[site] = static_cast<Spin>(-spin[site]);
        }
      }
    }
  }

  /// Exchange number e: neighbours in temperature may change places, in each sample and copy for itself.
  void exchange(std::int64_t e) {
    const std::int64_t n = temperatures(problem_);
    const ExchangeTable table{exchange_thresholds_.of.data(), exchange_thresholds_.first.data()};
    for (std::int64_t sample = 0; sample < problem_.samples; ++sample) {
      for (std::int64_t copy = 0; copy < copies(problem_); ++copy) {
        for (std::int64_t t = e % 2; t + 1 < n; t += 2) {
          const std::int64_t colder = sample * problem_.replicas + copy * n + t, warmer = colder + 1;
          const std::int64_t colder_energy = energy(problem_.size, spins_[colder], couplings_[sample]);
          const std::int64_t warmer_energy = energy(problem_.size, spins_[warmer], couplings_[sample]);
          const std::uint64_t draw = exchange_draw(origin(problem_), problem_.replicas, colder, e);
          if (!table.accepts(static_cast<int>(t), colder_energy, warmer_energy, draw)) continue;
          std::swap(spins_[colder], spins_[warmer]);
          std::swap(walkers_[colder], walkers_[warmer]);
          walkers_[colder] = arrived(walkers_[colder], static_cast<int>(t), static_cast<int>(n));
          walkers_[warmer] = arrived(walkers_[warmer], static_cast<int>(t + 1), static_cast<int>(n));
          ++accepted_[colder];
        }
      }
    }
  }

  Problem problem_;
  ReplicaThresholds thresholds_;
  ExchangeThresholds exchange_thresholds_;
  std::vector<std::vector<Coupling>> couplings_;   ///< [sample][3 s + d]
  std::vector<std::vector<Spin>> spins_;           ///< [sample * replicas + replica][s]
  std::vector<Stream> streams_;                    ///< [group * sites + s]
  std::vector<std::uint32_t> accepted_, walkers_;  ///< [sample * replicas + replica]; none without a ladder
  std::int64_t half_sweeps_done_ = 0;
};

template <class Stream>
std::unique_ptr<Simulation> make(const Problem& problem) {
  const double states = static_cast<double>(problem.samples * problem.replicas) * sites(problem);
  const double couplings = 3.0 * static_cast<double>(problem.samples) * sites(problem);
  const double streams = static_cast<double>(groups(problem)) * sites(problem) * sizeof(Stream);
  const double needed = states + couplings + streams;
  const double there = static_cast<double>(host_memory_bytes());
  if (needed > there) {
    throw InvalidInput("--size " + std::to_string(problem.size) + " with " + std::to_string(problem.samples) +
                       " samples of " + std::to_string(problem.replicas) + " replicas needs " + readable_bytes(needed) +
                       " of memory; the machine has " + readable_bytes(there));
  }
  return std::make_unique<SpinGlass<Stream>>(problem);
}

}  // namespace

std::unique_ptr<Simulation> make_simulation(const Problem& problem, const Launch& launch) {
  check(problem);
  for (const LaunchField& field : launch_fields()) {
    if (field.get(launch)) {
      throw InvalidInput(field.option + ": stage 00 is a plain loop without threads or layouts; leave it out");
    }
  }
  switch (problem.generator) {
    case Generator::minstd:
      return make<MinstdStream>(problem);
    case Generator::mt19937:
      return make<Mt19937Stream>(problem);
    case Generator::parisi_rapuano:
      return make<ParisiRapuanoStream>(problem);
    case Generator::philox:
      return make<PhiloxStream>(problem);
    case Generator::philox_planes:
      return make<PhiloxPlanesStream>(problem);
    default:
      throw InvalidInput("--generator is " + std::string(name(problem.generator)) +
                         ": stage 00 has minstd, parisi-rapuano, mt19937, philox and philox-planes; cuRAND's are in "
                         "stage 06, on a GPU");
  }
}

}  // namespace psflip::reference
