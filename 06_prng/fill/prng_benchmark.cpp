/// What random numbers cost: an array filled with floats, and numbers that a kernel only looks at, for our generators
/// and cuRAND's, with the write and copy bandwidths to measure them by.
///
/// Time is the device's own, for K launches from the streams' beginning. Every result is checked, before the timing and
/// after it. Ours: the first and the last streams against generators that share no code with them
/// (fill_reference.hpp), and all shapes with equally many streams against each other. Everybody's: the mean, or the
/// fraction of odd numbers, within five standard errors.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "06_prng/fill/fill.hpp"
#include "06_prng/fill/fill_reference.hpp"
#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
#include "app/state_hash.hpp"
#include "gpu/benchmark.hpp"
#include "gpu/platforms.hpp"
#if PSFLIP_HAS_CURAND
#include "06_prng/fill/curand_fill.hpp"
#endif

namespace psflip::prng {
namespace {

const auto& platforms() {
  static const auto all = PSFLIP_PLATFORMS(fill_makers);
  return all;
}

/// --tasks
const std::vector<std::string> tasks = {"fill", "count", "write"};

struct Options {
  std::vector<std::string> tasks = prng::tasks;
  std::vector<std::string> generators;  ///< empty: all
  std::int64_t elements = 0;            // 0, and empty: the device decides
  std::vector<std::int64_t> streams;    // of (a)
  std::vector<int> per_thread = {1, 2, 4};
  std::vector<std::int64_t> blocks;  // of (b)
  int threads = 256;
  std::int64_t draws = 0;
  std::int64_t launches = 10;
  std::uint64_t seed = 1;
  int repetitions = 3;
  std::string device = "auto";
};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// What all benchmarks of this process share.
struct Session {
  Options options;
  ChosenDevice<const Makers> choice;
  std::map<std::string, Verdict> verdicts;  ///< by Variant::problem

  // Repetitions of a benchmark are separate calls and share what they measure; two need not fit into the memory.
  std::unique_ptr<Drawer> drawer;
  std::string drawer_name;
};

/// A benchmark.
struct Variant {
  std::string name;
  std::string problem;  ///< the same for all that have to agree
  std::string generator;
  std::int64_t streams;
};

/// Says what is wrong with a result. Always returns false.
bool reject(benchmark::State& state, const std::string& what) {
  fail(state, "wrong numbers: " + what);
  return false;
}

/// Whether a mean of independent numbers is near enough to 1/2. `deviation` is that of one number.
bool plausible(benchmark::State& state, const std::string& what, double mean, double deviation, double count) {
  const double allowed = 5 * deviation / std::sqrt(count) + 0x1p-24;  // floats are cut, by ours after 24 bits
  if (std::abs(mean - 0.5) <= allowed) return true;
  return reject(state, what + " is " + std::to_string(mean) + ", more than five standard errors from 1/2");
}

/// Some streams at both ends of all: whole words of the widest thread, and a few more.
std::vector<std::int64_t> samples(std::int64_t streams) {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; id < streams; ++id) {
    if (id == 5) id = std::max(id, streams - 5);
    ids.push_back(id);
  }
  return ids;
}

bool check(benchmark::State& state, Session& session, const Variant& variant, const Filler& filler,
           const std::string& when) {
  const Sums sums = filler.sums();
  if (sums.outside > 0) return reject(state, std::to_string(sums.outside) + " are not in [0, 1]");
  if (!plausible(state, "the mean", sums.mean, std::sqrt(1. / 12), static_cast<double>(session.options.elements)))
    return false;
  if (has(own_generators, variant.generator) && when == "before") {
    const int bits = bits_of(variant.generator);
    for (const std::int64_t id : samples(variant.streams)) {
      const auto next = reference_stream(variant.generator, session.options.seed, id);
      for (const float number : filler.elements(id, variant.streams))
        if (number != static_cast<float>(next() >> (bits - 24)) / 16777216)
          return reject(state, "stream " + std::to_string(id) + " is not that of the reference");
    }
  }
  return session.verdicts[variant.problem].agrees(state, hex(sums.checksum), when);
}

bool check(benchmark::State& state, Session& session, const Variant& variant, const OddCounter& counter,
           const std::string& when) {
  const std::vector<std::uint32_t> odd = counter.odd();
  std::uint64_t sum = 0, checksum = 0;
  for (std::size_t id = 0; id < odd.size(); ++id) {
    sum += odd[id];
    checksum += mix(mix(id) + odd[id]);
  }
  const std::int64_t draws = session.options.draws * session.options.launches;
  const double all = static_cast<double>(draws) * static_cast<double>(odd.size());
  if (!plausible(state, "the fraction of odd numbers", static_cast<double>(sum) / all, 0.5, all)) return false;
  if (has(own_generators, variant.generator) && when == "before") {
    for (const std::int64_t id : samples(variant.streams)) {
      const auto next = reference_stream(variant.generator, session.options.seed, id);
      std::uint32_t expected = 0;
      for (std::int64_t i = 0; i < draws; ++i) expected += next() & 1;
      if (odd[static_cast<std::size_t>(id)] != expected)
        return reject(state, "stream " + std::to_string(id) + " has not the reference's odd numbers");
    }
  }
  return session.verdicts[variant.problem].agrees(state, hex(checksum), when);
}

double draw(const Options&, Filler& filler) { return filler.fill(); }

double draw(const Options& options, OddCounter& counter) {
  double seconds = 0;
  for (std::int64_t i = 0; i < options.launches; ++i) seconds += counter.count(options.draws);
  return seconds;
}

/// How many numbers one draw() draws, and from what.
std::pair<double, StateSize> drawn(const Options& options, const Variant&, const Filler& filler) {
  return {static_cast<double>(options.elements), filler.state()};
}

std::pair<double, StateSize> drawn(const Options& options, const Variant& variant, const OddCounter& counter) {
  return {static_cast<double>(options.draws * options.launches) * static_cast<double>(variant.streams),
          counter.state(options.draws)};
}

/// Kind is Filler or OddCounter, which make() makes.
template <class Kind>
void measure(benchmark::State& state, Session& session, const Variant& variant,
             const std::function<std::unique_ptr<Kind>()>& make) {
  if (!session.drawer || session.drawer_name != variant.name) {
    session.drawer.reset();
    std::unique_ptr<Kind> made = make();
    draw(session.options, *made);  // warms up, too
    if (!check(state, session, variant, *made, "before")) return;
    session.drawer = std::move(made);
    session.drawer_name = variant.name;
  }
  auto& drawer = static_cast<Kind&>(*session.drawer);
  double seeding = 0;
  const double drawing = time_iterations(state, [&] {
    seeding += drawer.seed();
    return draw(session.options, drawer);
  });
  if (!check(state, session, variant, drawer, "after")) return;
  const auto [numbers, size] = drawn(session.options, variant, drawer);
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["init_ms"] = seeding / iterations * 1e3;
  state.counters["numbers"] = numbers;
  state.counters["numbers_per_s"] = numbers * iterations / drawing;
  if constexpr (std::is_same_v<Kind, Filler>) state.counters["gb_per_s"] = 4e-9 * state.counters["numbers_per_s"];
  if (!std::isnan(size.bytes)) {
    state.counters["state_bytes"] = size.bytes;
    state.counters["state_bytes_per_number"] = size.bytes_per_draw;
  }
  state.SetLabel(session.verdicts[variant.problem].expected);
}

template <class Kind>
void add(Session& session, const Variant& variant, const std::function<std::unique_ptr<Kind>()>& make) {
  register_benchmark(variant.name, session.options.repetitions, 0, [&session, variant, make](benchmark::State& state) {
    measure<Kind>(state, session, variant, make);
  });
}

void register_own_fills(Session& session, const std::string& generator) {
  const Options& options = session.options;
  for (const std::int64_t streams : options.streams) {
    for (const int s : options.per_thread) {
      const std::string problem = "fill/generator:" + generator + "/streams:" + std::to_string(streams);
      const std::string name =
          problem + "/per-thread:" + std::to_string(s) + "/threads:" + std::to_string(options.threads);
      const Shape shape{streams, s, options.threads, session.choice.device.index};
      add<Filler>(session, {name, problem, generator, streams}, [&session, generator, shape] {
        return session.choice.platform->make->filler(generator, session.options.elements, session.options.seed, shape);
      });
    }
  }
}

using MakeOddCounter = std::unique_ptr<OddCounter>(const std::string&, std::uint64_t, const Shape&);

void register_count(Session& session, const std::string& generator, std::int64_t blocks, int threads, int s,
                    MakeOddCounter* maker) {
  const Shape shape{blocks * threads * s, s, threads, session.choice.device.index};
  const std::string problem = "count/generator:" + generator + "/streams:" + std::to_string(shape.streams);
  const std::string name = "count/generator:" + generator + "/blocks:" + std::to_string(blocks) +
                           "/per-thread:" + std::to_string(s) + "/threads:" + std::to_string(threads);
  add<OddCounter>(session, {name, problem, generator, shape.streams},
                  [&session, generator, shape, maker] { return maker(generator, session.options.seed, shape); });
}

void register_own_counts(Session& session, const std::string& generator) {
  for (const std::int64_t blocks : session.options.blocks)
    for (const int s : session.options.per_thread)
      register_count(session, generator, blocks, session.options.threads, s, session.choice.platform->make->counter);
}

#if PSFLIP_HAS_CURAND
void register_curand_fills(Session& session, const std::string& generator) {
  for (const std::string& ordering : curand_orderings) {
    const std::string name = "fill/generator:" + generator + "/ordering:" + ordering;
    add<Filler>(session, {name, name, generator, 0}, [&session, generator, ordering] {
      return gpu::make_curand_filler(generator, ordering, session.options.elements, session.options.seed,
                                     session.choice.device.index);
    });
  }
}

void register_curand_counts(Session& session, const std::string& generator) {
  const bool mtgp32 = generator == "curand-mtgp32";
  const int threads = mtgp32 ? std::min(session.options.threads, mtgp32_threads) : session.options.threads;
  std::vector<std::int64_t> done;
  for (std::int64_t blocks : session.options.blocks) {
    if (mtgp32) blocks = std::min<std::int64_t>(blocks, mtgp32_blocks);
    if (std::ranges::find(done, blocks) != done.end()) continue;
    register_count(session, generator, blocks, threads, 1, gpu::make_curand_counter);
    done.push_back(blocks);
  }
}
#endif

void register_write(Session& session, const std::string& how) {
  const std::string name = "write/how:" + how;
  register_benchmark(name, session.options.repetitions, 0, [&session, how](benchmark::State& state) {
    session.drawer.reset();
    const auto bytes = 4 * static_cast<std::size_t>(session.options.elements);
    const double bandwidth = session.choice.platform->make->write_bandwidth(
        session.choice.device.index, std::max<std::size_t>(bytes, 16), how == "kernel", 20);
    for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(static_cast<double>(bytes) / bandwidth);
    state.counters["gb_per_s"] = bandwidth * 1e-9;
  });
}

void register_benchmarks(Session& session) {
  const auto& options = session.options;
  const auto each = [&](const std::string& task, const std::vector<std::string>& generators, auto registration) {
    if (!has(options.tasks, task)) return;
    for (const std::string& generator : generators)
      if (options.generators.empty() || has(options.generators, generator)) registration(session, generator);
  };
  each("fill", own_generators, register_own_fills);
#if PSFLIP_HAS_CURAND
  const bool gpu = session.choice.device.platform == "gpu";
  if (gpu) each("fill", curand_fillers, register_curand_fills);
#endif
  each("count", own_generators, register_own_counts);
#if PSFLIP_HAS_CURAND
  if (gpu) each("count", curand_counters, register_curand_counts);
#endif
  if (has(options.tasks, "write")) {
    for (const char* how : {"memset", "kernel"}) register_write(session, how);
    register_copy_benchmark(session.choice.device, 4 * static_cast<std::size_t>(options.elements),
                            [&session] { session.drawer.reset(); });
  }
}

/// What was left open: the paper's problem on a GPU, a small one on the CPU.
void fill_in(Session& session) {
  Options& options = session.options;
  const DeviceReport& device = session.choice.device;
  const bool gpu = device.platform == "gpu";
  if (options.elements == 0) options.elements = std::int64_t{1} << (gpu ? 29 : 22);
  if (options.draws == 0) options.draws = gpu ? 1 << 15 : 1 << 8;
  if (options.streams.empty()) {
    for (const int bits : gpu ? std::vector<int>{14, 15, 16, 17, 18, 19, 20, 22} : std::vector<int>{12})
      options.streams.push_back(std::int64_t{1} << bits);
  }
  if (options.blocks.empty()) {
    const std::int64_t all = session.choice.platform->make->resident_threads(device.index);
    options.blocks = {64, std::max<std::int64_t>(all / options.threads, 1)};
    if (!gpu || options.blocks[0] == options.blocks[1]) options.blocks.pop_back();
  }
  // Each stream's odd numbers are counted in 32 bits.
  if (options.draws > std::numeric_limits<std::uint32_t>::max() / options.launches)
    throw InvalidInput("--draws times --launches is too large; it must be less than 2^32");
}

void add_options(CommandLine& line, Options& options) {
  std::vector<std::string> generators = own_generators;
#if PSFLIP_HAS_CURAND
  generators.insert(generators.end(), curand_fillers.begin(), curand_fillers.end());
#endif
  line.option("--tasks", options.tasks, "fill, count, write: an array of floats, odd numbers, bandwidths (all)")
      .delimiter(',')
      .check(one_of(tasks));
  line.option("--generators", options.generators, "minstd, mt19937, curand-xorwow, ... (all)")
      .delimiter(',')
      .check(one_of(generators));
  line.option("--elements", options.elements, "Floats to fill (2^29; 2^22 on a CPU)")
      .check(whole_number(1, std::int64_t{1} << 40));
  line.option("--streams", options.streams, "Streams that fill (2^14 to 2^22; 2^12 on a CPU)")
      .delimiter(',')
      .check(whole_number(1, 1 << 30));
  line.option("--per-thread", options.per_thread, "Streams of a thread: 1, 2, 4 (all); cuRAND's have one")
      .delimiter(',')
      .check(one_of({"1", "2", "4"}));
  line.option("--blocks", options.blocks, "Blocks that count (64 and what fills the device)")
      .delimiter(',')
      .check(whole_number(1, 1 << 18));
  line.option("--threads", options.threads, "Threads of a block (256)").check(whole_number(1, 1024));
  line.option("--draws", options.draws, "Numbers of a stream in one counting launch (2^15; 2^8 on a CPU)")
      .check(whole_number(1, std::numeric_limits<std::uint32_t>::max()));
  line.option("--launches", options.launches, "Counting launches in a timed run (10)").check(whole_number(1, 1000));
  line.option("--seed", options.seed, "Seed (1)").check(whole_number(0));
  add_common_options(line, options.repetitions, options.device);
}

}  // namespace
}  // namespace psflip::prng

int main(int argc, char** argv) {
  using namespace psflip::prng;
  Session session;
  psflip::CommandLine line("Times random numbers: filling an array, counting odd ones, ours and cuRAND's.",
                           "prng_benchmark");
  add_options(line, session.options);
  return psflip::run_benchmarks(line, argc, argv, [&session] {
    session.choice = psflip::choose_device(platforms(), session.options.device);
    fill_in(session);
    const Options& options = session.options;
    psflip::describe("06_prng", session.choice.device);
    const auto say = [](const char* what, std::uint64_t value) { psflip::add_context(what, std::to_string(value)); };
    say("elements", static_cast<std::uint64_t>(options.elements));
    say("draws", static_cast<std::uint64_t>(options.draws));
    say("launches", static_cast<std::uint64_t>(options.launches));
    say("l2_bytes", session.choice.platform->make->l2_bytes(session.choice.device.index));
    say("curand", PSFLIP_HAS_CURAND);
    register_benchmarks(session);
  });
}
