/// The cubic stencil's speed: time for a word, for every size, indexing, load path and block size asked for, and the
/// copy bandwidth to measure it by.
///
/// Time is the device's own (Engine::advance), for K sweeps from the start, and all variants of one size have to leave
/// the same words, before the timing and after it: what is fast because it is wrong ends as an error, not as a figure.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "05_sliced/stencil/stencil.hpp"
#include "05_sliced/stencil/stencil_platforms.hpp"
#include "app/command_line.hpp"
#include "app/state_hash.hpp"
#include "gpu/benchmark.hpp"
#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::stencil {
namespace {

using spin_glass::Indexing;
using spin_glass::Launch;
using spin_glass::Load;

template <class Choices>
std::vector<std::string> names(const Choices& choices) {
  std::vector<std::string> all;
  for (const auto choice : choices) all.emplace_back(name(choice));
  return all;
}

/// The one of `choices` that is called so.
template <class Choices>
auto called(const std::string& wish, const Choices& choices) {
  return *std::ranges::find(choices, wish, [](auto choice) { return std::string(name(choice)); });
}

struct Options {
  std::vector<std::int64_t> sizes{64};
  std::vector<std::string> indexings = names(spin_glass::indexings);
  std::vector<std::string> loads = names(spin_glass::loads);
  std::vector<int> threads;
  std::int64_t sweeps = 10;
  int repetitions = 5;
  std::string device = "auto";
};

/// What all benchmarks of this process share.
struct Session {
  Options options;
  Choice<MakeEngine> choice;
  std::map<std::int64_t, Verdict> verdicts;  ///< by size, on the words K sweeps after the start
  Verdict copy_verdict;

  // Repetitions of a benchmark are separate calls and share one engine; two engines need not fit into the memory.
  std::unique_ptr<Engine> engine;
  std::string engine_name;
};

bool bits_agree(benchmark::State& state, Session& session, std::int64_t size, const std::string& when) {
  return session.verdicts[size].agrees(state, hex(session.engine->checksum()), when);
}

/// The engine for this launch, warm, its bits checked once. Null if they are wrong.
Engine* prepare(benchmark::State& state, Session& session, const std::string& name, std::int64_t size, Launch launch) {
  if (session.engine && session.engine_name == name) return session.engine.get();
  session.engine.reset();
  launch.device = session.choice.device.index;
  session.engine = session.choice.platform->make_simulation(size, launch);
  session.engine_name = name;
  session.engine->advance(2 * session.options.sweeps);
  if (!bits_agree(state, session, size, "before")) session.engine.reset();
  return session.engine.get();
}

void measure(benchmark::State& state, Session& session, const std::string& name, std::int64_t size,
             const Launch& launch) {
  Engine* engine = prepare(state, session, name, size, launch);
  if (!engine) return;
  double seconds = 0;
  for ([[maybe_unused]] auto iteration : state) {
    engine->restart();
    const double taken = engine->advance(2 * session.options.sweeps);
    state.SetIterationTime(taken);
    seconds += taken;
  }
  if (!bits_agree(state, session, size, "after")) return;
  const double sites = static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
  const double updates =
      sites * static_cast<double>(session.options.sweeps * static_cast<std::int64_t>(state.iterations()));
  state.counters["ps_per_site"] = seconds / updates * 1e12;
  state.counters["bytes_per_site"] = bytes_per_site;
  state.counters["gb_per_s"] = bytes_per_site * updates / seconds * 1e-9;
  state.counters["threads_of_a_block"] = *engine->launch().threads;
  state.SetLabel(session.verdicts[size].expected);
}

void register_benchmarks(Session& session) {
  const Options& options = session.options;
  for (const std::int64_t size : options.sizes) {
    for (const std::string& indexing : options.indexings) {
      for (const std::string& load : options.loads) {
        for (const auto threads : or_default(options.threads)) {
          std::string name = "stencil/size:" + std::to_string(size) + "/indexing:" + indexing + "/load:" + load;
          if (threads) name += "/threads:" + std::to_string(*threads);
          const Launch launch{.indexing = called(indexing, spin_glass::indexings),
                              .load = called(load, spin_glass::loads),
                              .threads = threads};
          register_benchmark(name, options.repetitions, 0, [&session, name, size, launch](benchmark::State& state) {
            measure_or_report(state, session.verdicts[size], [&] { measure(state, session, name, size, launch); });
          });
        }
      }
    }
  }
  const auto largest = static_cast<std::size_t>(std::ranges::max(options.sizes));
  register_copy_benchmark(session.choice.device, largest * largest * largest * sizeof(Word), session.copy_verdict,
                          [&session] { session.engine.reset(); });
}

bool failed(const Session& session) {
  return session.copy_verdict.failed ||
         std::ranges::any_of(session.verdicts, [](const auto& entry) { return entry.second.failed; });
}

void check_sizes(const Options& options) {
  for (const std::int64_t size : options.sizes) {
    spin_glass::Problem problem;
    problem.size = size;
    check(problem);
  }
}

void add_options(CommandLine& line, Options& options) {
  line.option("--size", options.sizes, "Sites along each side: even").delimiter(',').check(whole_number(1));
  line.option("--indexing", options.indexings, "standard, bitwise, standard-grid, sliced, sliced-grid (all)")
      .delimiter(',')
      .check(one_of(names(spin_glass::indexings)));
  line.option("--load", options.loads, "plain, readonly, texture (all)")
      .delimiter(',')
      .check(one_of(names(spin_glass::loads)));
  line.option("--threads", options.threads, "Threads of a block; with a grid indexing a whole row at least")
      .delimiter(',')
      .check(whole_number(1, 1024));
  line.option("--sweeps", options.sweeps, "Updates of all sites in one timed run").check(whole_number(1));
  line.option("--repetitions", options.repetitions, "Timed runs of each variant").check(whole_number(1));
  line.option("--device", options.device, "auto, cpu, gpu, or the number of a GPU");
  line.footer("Options of Google Benchmark (--benchmark_format=json, --benchmark_filter=...) work too.");
  line.allow_extras();
}

}  // namespace
}  // namespace psflip::stencil

int main(int argc, char** argv) {
  using namespace psflip::stencil;
  Session session;
  psflip::CommandLine line(
      "Times the memory access of a spin-glass update: six neighbours XOR six couplings, stored into the site.",
      "stencil_benchmark");
  add_options(line, session.options);
  const int code = psflip::run_program(line, argc, argv, [&line, &session] {
    psflip::initialise_google_benchmark(line);
    check_sizes(session.options);
    session.choice = psflip::choose_device(platforms(), session.options.device);
    psflip::describe(psflip::spin_glass::stage(), session.choice.device);
    psflip::add_context("sweeps", std::to_string(session.options.sweeps));
    register_benchmarks(session);
    psflip::run_benchmarks();
  });
  return code == 0 && failed(session) ? 1 : code;
}
