/// The cubic stencil's speed: time for a word, for every size, indexing, load path and block size asked for, and the
/// copy bandwidth to measure it by.
///
/// Time is the device's own (Engine::advance), for K sweeps from the start, and all variants of one size have to leave
/// the same words, before the timing and after it: what is fast because it is wrong ends as an error, not as a figure.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "05_sliced/stencil/stencil.hpp"
#include "app/command_line.hpp"
#include "app/state_hash.hpp"
#include "gpu/benchmark.hpp"
#include "gpu/platforms.hpp"
#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::stencil {
namespace {

const auto& platforms() {
  static const auto all = PSFLIP_PLATFORMS(make_stencil);
  return all;
}

struct Options : EngineOptions {
  Options() { launches = {{"indexing", names<spin_glass::Indexing>()}, {"load", names<spin_glass::Load>()}}; }
  std::vector<std::int64_t> sizes{64};
  std::int64_t sweeps = 10;
};

/// What all benchmarks of this process share.
struct Session {
  Options options;
  ChosenDevice<MakeEngine> choice;
  std::map<std::int64_t, Verdict> verdicts;  ///< by size, on the words K sweeps after the start
  EngineAtWork at_work;
};

class Timed : public TimedEngine {
 public:
  Timed(Session& session, std::int64_t size, const Launch& launch)
      : session_(session), size_(size), engine_(session.choice.platform->make(size, launch)) {}
  void restart() override { engine_->restart(); }
  double run() override { return engine_->advance(2 * session_.options.sweeps); }
  bool agrees(benchmark::State& state, const std::string& when) override {
    return session_.verdicts[size_].agrees(state, hex(engine_->checksum()), when);
  }
  void report(benchmark::State& state, double seconds) override {
    const double sites = static_cast<double>(size_) * static_cast<double>(size_) * static_cast<double>(size_);
    const double updates =
        sites * static_cast<double>(session_.options.sweeps * static_cast<std::int64_t>(state.iterations()));
    state.counters["ps_per_site"] = seconds / updates * 1e12;
    state.counters["bytes_per_site"] = bytes_per_site;
    state.counters["gb_per_s"] = bytes_per_site * updates / seconds * 1e-9;
    state.counters["threads_of_a_block"] = *engine_->launch().threads;
    state.SetLabel(session_.verdicts[size_].expected);
  }

 private:
  Session& session_;
  std::int64_t size_;
  std::unique_ptr<Engine> engine_;
};

void register_benchmarks(Session& session) {
  const Options& options = session.options;
  for (const std::int64_t size : options.sizes)
    for (const Launch& launch : launches<Launch>(options, session.choice.device.index))
      register_engine("stencil/size:" + std::to_string(size) + words(launch), options, false, session.at_work,
                      session.verdicts[size],
                      [&session, size, launch] { return std::make_unique<Timed>(session, size, launch); });
  const auto largest = static_cast<std::size_t>(std::ranges::max(options.sizes));
  register_copy_benchmark(session.choice.device, largest * largest * largest * sizeof(Word),
                          [&session] { session.at_work.engine.reset(); });
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
  line.option("--sweeps", options.sweeps, "Updates of all sites in one timed run").check(whole_number(1));
  declare<Launch>(line, options);
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
  return psflip::run_benchmarks(line, argc, argv, [&session] {
    check_sizes(session.options);
    session.choice = psflip::choose_device(platforms(), session.options.device);
    psflip::describe(psflip::spin_glass::stage(), session.choice.device);
    psflip::add_context("sweeps", std::to_string(session.options.sweeps));
    register_benchmarks(session);
  });
}
