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
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "06_prng/fill/fill.hpp"
#include "06_prng/fill/fill_reference.hpp"
#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
#include "app/state_hash.hpp"
#include "gpu/benchmark.hpp"
#if PSFLIP_HAS_CURAND
#include "06_prng/fill/curand_fill.hpp"
#endif

namespace psflip::prng {
namespace {

constexpr bool has_curand = PSFLIP_HAS_CURAND;

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

bool wanted(const Options& options, const std::string& generator) {
  return options.generators.empty() || std::ranges::find(options.generators, generator) != options.generators.end();
}

bool is_own(const std::string& generator) {
  return std::ranges::find(own_generators, generator) != own_generators.end();
}

/// What all benchmarks of this process share.
struct Session {
  Options options;
  Choice<const Makers> choice;
  std::map<std::string, Verdict> verdicts;  ///< by task, generator and number of streams

  // Repetitions of a benchmark are separate calls and share what they measure; two need not fit into the memory.
  std::string current;
  std::unique_ptr<Filler> filler;
  std::unique_ptr<Counter> counter;

  void release() {
    current.clear();
    filler.reset();
    counter.reset();
  }
};

/// Says what is wrong with a result. Always returns false.
bool reject(benchmark::State& state, Verdict& verdict, const std::string& what) {
  verdict.failed = true;
  state.SkipWithError(("wrong numbers: " + what).c_str());
  return false;
}

/// Whether a mean of independent numbers is near enough to 1/2. `deviation` is that of one number.
bool plausible(benchmark::State& state, Verdict& verdict, const std::string& what, double mean, double deviation,
               double count) {
  const double allowed = 5 * deviation / std::sqrt(count) + 0x1p-24;  // floats are cut, by ours after 24 bits
  if (std::abs(mean - 0.5) <= allowed) return true;
  return reject(state, verdict, what + " is " + std::to_string(mean) + ", more than five standard errors from 1/2");
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

bool check_fill(benchmark::State& state, Verdict& verdict, const Filler& filler, const std::string& generator,
                std::int64_t streams, const Options& options, const std::string& when) {
  const Sums sums = filler.sums();
  if (sums.outside > 0) return reject(state, verdict, std::to_string(sums.outside) + " are not in [0, 1]");
  if (!plausible(state, verdict, "the mean", sums.mean, std::sqrt(1. / 12), static_cast<double>(options.elements)))
    return false;
  if (is_own(generator) && when == "before") {
    const int bits = bits_of(generator);
    for (const std::int64_t id : samples(streams)) {
      const auto next = reference_stream(generator, options.seed, id);
      for (const float number : filler.elements(id, streams))
        if (number != static_cast<float>(next() >> (bits - 24)) / 16777216)
          return reject(state, verdict, "stream " + std::to_string(id) + " is not that of the reference");
    }
  }
  return verdict.agrees(state, hex(sums.checksum), when);
}

bool check_count(benchmark::State& state, Verdict& verdict, const Counter& counter, const std::string& generator,
                 const Options& options, const std::string& when) {
  const std::vector<std::uint32_t> odd = counter.odd();
  std::uint64_t sum = 0, checksum = 0;
  for (std::size_t id = 0; id < odd.size(); ++id) {
    sum += odd[id];
    checksum += mix(mix(id) + odd[id]);
  }
  const std::int64_t draws = options.draws * options.launches;
  const double all = static_cast<double>(draws) * static_cast<double>(odd.size());
  if (!plausible(state, verdict, "the fraction of odd numbers", static_cast<double>(sum) / all, 0.5, all)) return false;
  if (is_own(generator) && when == "before") {
    for (const std::int64_t id : samples(static_cast<std::int64_t>(odd.size()))) {
      const auto next = reference_stream(generator, options.seed, id);
      std::uint32_t expected = 0;
      for (std::int64_t i = 0; i < draws; ++i) expected += next() & 1;
      if (odd[static_cast<std::size_t>(id)] != expected)
        return reject(state, verdict, "stream " + std::to_string(id) + " has not the reference's odd numbers");
    }
  }
  return verdict.agrees(state, hex(checksum), when);
}

/// What was timed, summed over the iterations of a run.
struct Times {
  double seed = 0, work = 0;
};

void report(benchmark::State& state, const Times& times, double numbers, const StateSize& size,
            const Verdict& verdict) {
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["init_ms"] = times.seed / iterations * 1e3;
  state.counters["numbers"] = numbers;
  state.counters["numbers_per_s"] = numbers * iterations / times.work;
  if (!std::isnan(size.bytes)) {
    state.counters["state_bytes"] = size.bytes;
    state.counters["state_bytes_per_number"] = size.bytes_per_draw;
  }
  state.SetLabel(verdict.expected);
}

void measure_fill(benchmark::State& state, Session& session, const std::string& name, const std::string& generator,
                  std::int64_t streams, const std::function<std::unique_ptr<Filler>()>& make, Verdict& verdict) {
  if (session.current != name) {
    session.release();
    session.filler = make();
    session.filler->fill();  // warms up, too
    if (!check_fill(state, verdict, *session.filler, generator, streams, session.options, "before")) return;
    session.current = name;
  }
  Times times;
  for ([[maybe_unused]] auto iteration : state) {
    times.seed += session.filler->seed();
    const double taken = session.filler->fill();
    state.SetIterationTime(taken);
    times.work += taken;
  }
  if (!check_fill(state, verdict, *session.filler, generator, streams, session.options, "after")) return;
  report(state, times, static_cast<double>(session.options.elements), session.filler->state(), verdict);
  state.counters["gb_per_s"] = 4e-9 * state.counters["numbers_per_s"];
}

double count(const Session& session) {
  double seconds = 0;
  for (std::int64_t i = 0; i < session.options.launches; ++i) seconds += session.counter->count(session.options.draws);
  return seconds;
}

void measure_count(benchmark::State& state, Session& session, const std::string& name, const std::string& generator,
                   std::int64_t streams, const std::function<std::unique_ptr<Counter>()>& make, Verdict& verdict) {
  const Options& options = session.options;
  if (session.current != name) {
    session.release();
    session.counter = make();
    count(session);
    if (!check_count(state, verdict, *session.counter, generator, options, "before")) return;
    session.current = name;
  }
  Times times;
  for ([[maybe_unused]] auto iteration : state) {
    times.seed += session.counter->seed();
    const double taken = count(session);
    state.SetIterationTime(taken);
    times.work += taken;
  }
  if (!check_count(state, verdict, *session.counter, generator, options, "after")) return;
  const double numbers = static_cast<double>(options.draws * options.launches) * static_cast<double>(streams);
  report(state, times, numbers, session.counter->state(options.draws), verdict);
}

/// Registers `measure` under `name`. What it has to agree with is shared by all that have the same `problem`.
void add(Session& session, const std::string& name, const std::string& problem,
         std::function<void(benchmark::State&, Verdict&)> measure) {
  register_benchmark(name, session.options.repetitions, 0,
                     [&session, problem, measure = std::move(measure)](benchmark::State& state) {
                       Verdict& verdict = session.verdicts[problem];
                       measure_or_report(state, verdict, [&] { measure(state, verdict); });
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
      add(session, name, problem, [&session, name, generator, shape](benchmark::State& state, Verdict& verdict) {
        const auto make = [&] {
          return session.choice.platform->make_simulation->filler(generator, session.options.elements,
                                                                  session.options.seed, shape);
        };
        measure_fill(state, session, name, generator, shape.streams, make, verdict);
      });
    }
  }
}

using MakeCounter = std::function<std::unique_ptr<Counter>(const std::string&, std::uint64_t, const Shape&)>;

void register_count(Session& session, const std::string& generator, std::int64_t blocks, int threads, int s,
                    const MakeCounter& maker) {
  const Shape shape{blocks * threads * s, s, threads, session.choice.device.index};
  const std::string problem = "count/generator:" + generator + "/streams:" + std::to_string(shape.streams);
  const std::string name = "count/generator:" + generator + "/blocks:" + std::to_string(blocks) +
                           "/per-thread:" + std::to_string(s) + "/threads:" + std::to_string(threads);
  add(session, name, problem, [&session, name, generator, shape, maker](benchmark::State& state, Verdict& verdict) {
    const auto make = [&] { return maker(generator, session.options.seed, shape); };
    measure_count(state, session, name, generator, shape.streams, make, verdict);
  });
}

void register_own_counts(Session& session, const std::string& generator) {
  for (const std::int64_t blocks : session.options.blocks)
    for (const int s : session.options.per_thread)
      register_count(session, generator, blocks, session.options.threads, s,
                     session.choice.platform->make_simulation->counter);
}

#if PSFLIP_HAS_CURAND
void register_curand_fills(Session& session, const std::string& generator) {
  for (const std::string& ordering : curand_orderings) {
    const std::string name = "fill/generator:" + generator + "/ordering:" + ordering;
    add(session, name, name, [&session, name, generator, ordering](benchmark::State& state, Verdict& verdict) {
      const auto make = [&] {
        return gpu::make_curand_filler(generator, ordering, session.options.elements, session.options.seed,
                                       session.choice.device.index);
      };
      measure_fill(state, session, name, generator, 0, make, verdict);
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
  add(session, name, name, [&session, how](benchmark::State& state, Verdict&) {
    session.release();
    const auto bytes = 4 * static_cast<std::size_t>(session.options.elements);
    const double bandwidth = session.choice.platform->make_simulation->write_bandwidth(
        session.choice.device.index, std::max<std::size_t>(bytes, 16), how == "kernel", 20);
    for ([[maybe_unused]] auto iteration : state) state.SetIterationTime(static_cast<double>(bytes) / bandwidth);
    state.counters["gb_per_s"] = bandwidth * 1e-9;
  });
}

bool does(const Session& session, const std::string& task) {
  return std::ranges::find(session.options.tasks, task) != session.options.tasks.end();
}

void register_benchmarks(Session& session) {
  const auto& options = session.options;
  const auto each = [&](const std::string& task, const std::vector<std::string>& generators, auto registration) {
    if (!does(session, task)) return;
    for (const std::string& generator : generators)
      if (wanted(options, generator)) registration(session, generator);
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
  if (does(session, "write")) {
    for (const char* how : {"memset", "kernel"}) register_write(session, how);
    register_copy_benchmark(session.choice.device, 4 * static_cast<std::size_t>(options.elements),
                            session.verdicts["copy"], [&session] { session.release(); });
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
    const std::int64_t all = session.choice.platform->make_simulation->resident_threads(device.index);
    options.blocks = {64, std::max<std::int64_t>(all / options.threads, 1)};
    if (!gpu || options.blocks[0] == options.blocks[1]) options.blocks.pop_back();
  }
  // Each stream's odd numbers are counted in 32 bits.
  if (options.draws > std::numeric_limits<std::uint32_t>::max() / options.launches)
    throw InvalidInput("--draws times --launches is too large; it must be less than 2^32");
}

void check_generators(const Options& options) {
  std::vector<std::string> known = own_generators;
#if PSFLIP_HAS_CURAND
  known.insert(known.end(), curand_fillers.begin(), curand_fillers.end());
#endif
  for (const std::string& generator : options.generators) {
    if (std::ranges::find(known, generator) != known.end()) continue;
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    throw InvalidInput("--generators " + generator + ": there is no such generator in this build; there are " + names);
  }
}

void add_options(CommandLine& line, Options& options) {
  line.option("--tasks", options.tasks, "fill, count, write: an array of floats, odd numbers, bandwidths (all)")
      .delimiter(',')
      .check(one_of(tasks));
  line.option("--generators", options.generators, "minstd, mt19937, curand-xorwow, ... (all)").delimiter(',');
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
  line.option("--repetitions", options.repetitions, "Timed runs of each variant (3)").check(whole_number(1, 1000));
  line.option("--device", options.device, "auto, cpu, gpu, or the number of a GPU");
  line.footer("Options of Google Benchmark (--benchmark_format=json, --benchmark_filter=...) work too.");
  line.allow_extras();
}

}  // namespace
}  // namespace psflip::prng

int main(int argc, char** argv) {
  using namespace psflip::prng;
  Session session;
  psflip::CommandLine line("Times random numbers: filling an array, counting odd ones, ours and cuRAND's.",
                           "prng_benchmark");
  add_options(line, session.options);
  const int code = psflip::run_program(line, argc, argv, [&line, &session] {
    psflip::initialise_google_benchmark(line);
    check_generators(session.options);
    session.choice = psflip::choose_device(platforms(), session.options.device);
    fill_in(session);
    const Options& options = session.options;
    psflip::describe("06_prng", session.choice.device);
    const auto say = [](const char* what, std::uint64_t value) { psflip::add_context(what, std::to_string(value)); };
    say("elements", static_cast<std::uint64_t>(options.elements));
    say("draws", static_cast<std::uint64_t>(options.draws));
    say("launches", static_cast<std::uint64_t>(options.launches));
    say("l2_bytes", session.choice.platform->make_simulation->l2_bytes(session.choice.device.index));
    say("curand", has_curand);
    register_benchmarks(session);
    psflip::run_benchmarks();
    session.release();
  });
  const bool failed = std::ranges::any_of(session.verdicts, [](const auto& entry) { return entry.second.failed; });
  return code == 0 && failed ? 1 : code;
}
