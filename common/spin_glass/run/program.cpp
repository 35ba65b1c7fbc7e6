// The program `spin_glass`: start, advance, measure, report, write files. `spin_glass --help` says it all.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "app/command_line.hpp"
#include "app/host.hpp"
#include "app/invalid_input.hpp"
#include "app/start.hpp"
#include "app/state_hash.hpp"
#include "spin_glass/checkpoint/checkpoint.hpp"
#include "spin_glass/checkpoint/checkpointer.hpp"
#include "spin_glass/checkpoint/row_journal.hpp"
#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/model/averages.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/model/run.hpp"
#include "spin_glass/model/schedule.hpp"
#include "spin_glass/run/merge.hpp"
#include "spin_glass/run/options.hpp"
#include "spin_glass/run/report.hpp"
#include "spin_glass/run/result_table.hpp"
#include "spin_glass/run/run_files.hpp"
#include "spin_glass/run/simulate.hpp"
#include "spin_glass/run/spins_file.hpp"

namespace psflip::spin_glass {
namespace {

/// Bytes for each site of a sample of all spins and couplings as the host has them.
double bytes_of_all(const Problem& problem) {
  return static_cast<double>(problem.replicas) * sizeof(Spin) + 3 * sizeof(Coupling);
}

/// Throws InvalidInput if the host's memory cannot hold so many bytes for each site of every sample, and what is
/// measured. The engine checks for itself the memory of its device.
void refuse_large_problem(const Run& run, const Schedule& schedule, double bytes_per_site) {
  const Problem& problem = run.problem;
  const auto of = [](std::int64_t number) { return static_cast<double>(number); };
  const double bins =
      problem.ladder ? of(static_cast<std::int64_t>(LadderBins::numbers_of(problem, run.functions()))) : 0;
  const double lattices = of(problem.samples) * of(sites(problem)) * bytes_per_site;
  const double averages = sizeof(AveragesAt) + (run.correlates() ? of(distances(problem.size)) * sizeof(Average) : 0);
  const double needed = lattices + of(problem.samples) * sizeof(double) * 5 +
                        of(overlaps(problem)) * sizeof(std::int64_t) + bins * sizeof(double) +
                        (problem.ladder ? 0 : of(schedule.count()) * averages);
  const double there = of(host_memory_bytes());
  if (needed <= there) {
    return;
  }
  throw InvalidInput("--size " + std::to_string(problem.size) + " with " + std::to_string(problem.samples) +
                     " samples of " + std::to_string(problem.replicas) + " replicas and " +
                     std::to_string(schedule.count()) + " measuring times needs " + readable_bytes(needed) +
                     " of memory; the machine has " + readable_bytes(there));
}

/// A device's first launch also loads the kernel. A small problem takes that out of the measured time. Where the launch
/// cannot do it, the measured time has it.
void warm_up(const Platform& platform, const Launch& launch, const Problem& problem) {
  Problem small = problem;
  small.given_couplings.reset();
  small.samples = 1;
  small.size = std::min<std::int64_t>(problem.size, 64);
  try {
    platform.make(small, launch)->advance(2);
  } catch (const InvalidInput&) {
  }
}

/// Where a run is saved, if it is to be: opened, and locked, before anything is read that another program might be
/// writing.
std::unique_ptr<Checkpointer> open_checkpointer(const Options& given) {
  const std::optional<std::string>& path = given.resume ? given.resume : given.checkpoint;
  if (!path) {
    if (given.checkpoint_every) {
      throw InvalidInput("--checkpoint-every: it needs --checkpoint or --resume");
    }
    return nullptr;
  }
  if (std::error_code ignored; given.resume && !std::filesystem::is_regular_file(*path, ignored)) {
    throw InvalidInput("--resume " + *path + ": there is no such file");
  }
  return std::make_unique<Checkpointer>(*path, given.resume.has_value());
}

/// What is asked for about the launch; for a resumed run that is the launch that it had, if this is the same stage and
/// kind of device and nothing else is asked for.
Launch wish_for(const Options& given, const Saved* saved, const ChosenDevice& choice) {
  const bool as_before = saved != nullptr && saved->stage == stage() && saved->platform == choice.platform->name;
  return launch_with<Launch>(as_before && given.launch.empty() ? saved->launch : given.launch, choice.device.index);
}

/// The rows that a checkpoint goes with, which go to the files again.
std::unique_ptr<RowJournal> read_journal(const std::string& path, const Saved& saved, const Run& run,
                                         const Schedule& schedule, RunFiles& files) {
  if (!saved.rows) return nullptr;
  const auto add = [&](std::int64_t sweep, std::int64_t sample, const SampleObservables& observables) {
    if (schedule.has(sweep)) files.add(sweep, sample, observables);
  };
  return std::make_unique<RowJournal>(path, run.problem, *saved.rows, add, run.keeps_correlations());
}

void work(const Options& given) {
  const std::unique_ptr<Checkpointer> checkpointer = open_checkpointer(given);
  std::optional<Checkpoint> checkpoint;
  if (given.resume) {
    checkpoint.emplace(*given.resume);
  }
  const Saved* const saved = checkpoint ? &checkpoint->saved() : nullptr;
  Run run = make_run(given, saved ? &saved->run : nullptr);
  if (saved && run.sweeps < saved->sweeps) {
    throw InvalidInput("--sweeps is " + std::to_string(run.sweeps) + ": " + std::to_string(saved->sweeps) +
                       " are done in " + *given.resume);
  }
  Saved known = saved ? *saved : Saved();  // what the next checkpoint says
  if (given.checkpoint_every) known.checkpoint_every = given.checkpoint_every;
  if (given.device) known.device = given.device;
  known.json |= given.json;
  if (checkpointer && known.checkpoint_every) {
    checkpointer->set_interval(*known.checkpoint_every);
  }
  const Schedule schedule(run.measure, run.sweeps);
  const ChosenDevice choice = choose_device(platforms(), known.device.value_or("auto"));
  if (choice.platform->name != "gpu") {
    refuse_large_problem(run, schedule, 2 * bytes_of_all(run.problem));  // here, and in the engine
  }
  std::vector<std::string> read = run.coupling_files;
  if (!saved && run.spins) read.push_back(*run.spins);
  RunFiles files(run.outputs, run.problem.samples, checkpointer ? checkpointer->paths() : std::vector<std::string>(),
                 read);
  if (files.writes_standard_output() && known.json) {
    throw InvalidInput("--json: standard output takes the JSON object or a file, not both");
  }
  std::ostream& out = files.writes_standard_output() ? std::cerr : std::cout;

  Launch wish = wish_for(given, saved, choice);
  wish.sweeps = run.sweeps - known.sweeps;
  const std::unique_ptr<Simulation> simulation = choice.platform->make(run.problem, wish);
  const Launch launch = simulation->launch();
  if (checkpointer && dynamic_cast<const Resumable*>(simulation.get()) == nullptr) {
    throw InvalidInput("--checkpoint: the random streams of " + std::string(name(run.problem.generator)) +
                       " are cuRAND's own and cannot be continued; take another --generator");
  }
  double bytes_per_site = bytes_of_all(run.problem);
  if (dynamic_cast<const Observing*>(simulation.get()) != nullptr) {  // given couplings, and the spins of a checkpoint
    bytes_per_site = (run.problem.given_couplings ? 3 * sizeof(Coupling) : 0) +
                     (saved ? static_cast<double>(run.problem.replicas) * sizeof(Spin) : 0);
  }
  refuse_large_problem(run, schedule, bytes_per_site);
  run.couplings_hash = hex(couplings_hash(run.problem));
  if (saved && saved->run.couplings_hash != run.couplings_hash) {
    throw InvalidInput("--couplings: the hash of these is " + run.couplings_hash + "; the run to be resumed has " +
                       saved->run.couplings_hash);
  }
  const nlohmann::ordered_json header = header_json(run, choice.device, launch);
  files.begin(header, run);

  Result result = known.result;
  if (!saved && run.spins) start_from(*run.spins, run.problem, *simulation);
  if (!saved && run.problem.ladder)
    result.ladder = LadderBins(run.problem, run.functions(), run.outputs.sums.has_value());
  std::unique_ptr<RowJournal> journal;
  if (checkpoint) {
    // What was measured only because it was the end is nothing that a longer run measures.
    if (const std::int64_t last = result.ladder.measured(); last >= 0 && !schedule.has(last)) {
      throw InvalidInput("--sweeps is " + std::to_string(run.sweeps) + ": after " + std::to_string(last) +
                         " the run measured because they were its last, and averages of a ladder cannot forget it; a "
                         "multiple of what --measure says can be made longer");
    }
    std::erase_if(result.averages, [&](const AveragesAt& at) { return !schedule.has(at.sweep); });
    journal = read_journal(journal_path(*given.resume), *saved, run, schedule, files);
    checkpoint->restore(*simulation);
    checkpoint.reset();  // with it goes the file, which would take room on the disk as long as it is open
  }

  if (!known.json) {
    report_device(out, choice.device, simulation->remark());
  }
  warm_up(*choice.platform, launch, run.problem);
  if (checkpointer) {
    Launch kept = launch;
    kept.transport = wish.transport;  // what is chosen for these ranks may not suit those of a resumed run
    known.launch = values_of(kept);
    known.stage = stage();
    known.platform = choice.platform->name;
    known.run = run;
    known.result = result;
    checkpointer->begin(known, std::move(journal), *simulation);
  }
  simulate(*simulation, run, schedule, files, checkpointer.get(), result);
  files.write_spins(header, *simulation, result);
  files.end(header, run.problem, result);
  if (known.json) {
    std::cout << text_of(result_json(header, simulation->remark(), launch.tried, run, result), 2) << '\n';
  } else {
    report(out, run, launch, result);
  }
}

int program(int argc, char** argv) {
  CommandLine line(
      "Simulates the three-dimensional +-J spin glass (Edwards-Anderson) on a periodic cubic lattice by Metropolis\n"
      "dynamics: a sweep updates all sites of one checkerboard colour, then all of the other.",
      "spin_glass");
  Options options;
  declare(line, options);
  line.footer(
      "The hash identifies the final state: every stage, device and launch gives the same. Where a stage has several\n"
      "kernels, a long run may try launches before it chooses; not with PSFLIP_LAUNCHES=off in the environment.");
  return run_program(line, argc, argv, [&] { options.merge.empty() ? work(options) : merge(options); });
}

}  // namespace
}  // namespace psflip::spin_glass

int main(int argc, char** argv) { return psflip::start(argc, argv, psflip::spin_glass::program); }
