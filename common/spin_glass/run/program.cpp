#include "spin_glass/run/program.hpp"

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
#include "app/state_hash.hpp"
#include "spin_glass/checkpoint/checkpoint.hpp"
#include "spin_glass/checkpoint/checkpointer.hpp"
#include "spin_glass/checkpoint/row_journal.hpp"
#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/model/averages.hpp"
#include "spin_glass/model/observables.hpp"
#include "spin_glass/run/options.hpp"
#include "spin_glass/run/report.hpp"
#include "spin_glass/run/result_table.hpp"
#include "spin_glass/run/run.hpp"
#include "spin_glass/run/run_files.hpp"
#include "spin_glass/run/schedule.hpp"
#include "spin_glass/run/simulate.hpp"

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
  const double lattices = of(problem.samples) * of(sites(problem)) * bytes_per_site;
  const double averages = sizeof(AveragesAt) + (run.correlations ? of(distances(problem.size)) * sizeof(Average) : 0);
  const double needed = lattices + of(problem.samples) * sizeof(double) * 5 +
                        of(pairs(problem.replicas)) * sizeof(std::int64_t) + of(schedule.count()) * averages;
  const double there = of(host_memory_bytes());
  if (needed <= there) {
    return;
  }
  throw InvalidInput("--size " + std::to_string(problem.size) + " with " + std::to_string(problem.samples) +
                     " samples of " + std::to_string(problem.replicas) + " replicas and " +
                     std::to_string(schedule.count()) + " measuring times needs " + readable_bytes(needed) +
                     " of memory; the machine has " + readable_bytes(there));
}

/// A device's first launch also loads the kernel. A small problem takes that out of the measured time: one sample, of a
/// size that the launch can do. Where that is refused, because there are more ranks of MPI than planes, the measured
/// time has it.
void warm_up(const Platform& platform, const Launch& launch, const Problem& problem) {
  Problem small = problem;
  small.given_couplings.reset();
  small.samples = 1;
  if (!launch.cluster) {  // the shape of a cluster is made for the size
    small.size = launch.transport ? std::min<std::int64_t>(problem.size, 64) : 16;
  }
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

RunFiles open_files(const Options& options, const Run& run) {
  RunFiles::Paths paths{options.output, options.averages, options.write_couplings, options.correlations, {}};
  if (options.checkpoint) {
    paths.others = {*options.checkpoint, journal_path(*options.checkpoint)};
  }
  return {paths, run.problem.samples};
}

/// What is asked for about the launch; for a resumed run that is the launch that it had, if this is the same stage and
/// kind of device and nothing else is asked for.
Launch wish_for(const Options& given, Options options, const Saved* saved, const Choice& choice) {
  if (saved != nullptr && given.launch.empty() &&
      (saved->stage != stage() || saved->platform != choice.platform->name)) {
    options.launch.clear();
  }
  return launch_with(options.launch, choice.device.index);
}

void work(const Options& given) {
  const std::unique_ptr<Checkpointer> checkpointer = open_checkpointer(given);
  std::optional<Checkpoint> checkpoint;
  if (given.resume) {
    checkpoint.emplace(*given.resume);
  }
  const Saved* const saved = checkpoint ? &checkpoint->saved() : nullptr;
  Options options = saved ? continued(given, saved->options) : given;
  if (options.sweeps && saved && *options.sweeps < saved->sweeps) {
    throw InvalidInput("--sweeps is " + std::to_string(*options.sweeps) + ": " + std::to_string(saved->sweeps) +
                       " are done in " + *given.resume);
  }
  if (checkpointer && options.checkpoint_every) {
    checkpointer->set_interval(*options.checkpoint_every);
  }
  const Schedule schedule(options.measure.value_or("end"), options.sweeps.value_or(100));
  Run run = make_run(options);
  const Choice choice = choose_device(platforms(), options.device.value_or("auto"));
  if (choice.platform->name != "gpu") {
    refuse_large_problem(run, schedule, 2 * bytes_of_all(run.problem));  // here, and in the engine
  }
  RunFiles files = open_files(options, run);
  if (files.writes_standard_output() && options.json) {
    throw InvalidInput("--json: standard output takes the JSON object or a file, not both");
  }
  std::ostream& out = files.writes_standard_output() ? std::cerr : std::cout;

  const Launch wish = wish_for(given, options, saved, choice);
  const std::unique_ptr<Simulation> simulation = choice.platform->make(run.problem, wish);
  if (checkpointer && !simulation->can_resume()) {
    throw InvalidInput("--checkpoint: the random streams of " + std::string(name(run.problem.generator)) +
                       " are cuRAND's own and cannot be continued; take another --generator");
  }
  double bytes_per_site = bytes_of_all(run.problem);
  if (simulation->spares_host_memory()) {  // given couplings, and the spins of a checkpoint
    bytes_per_site = (run.problem.given_couplings ? 3 * sizeof(Coupling) : 0) +
                     (saved ? static_cast<double>(run.problem.replicas) * sizeof(Spin) : 0);
  }
  refuse_large_problem(run, schedule, bytes_per_site);
  run.couplings_hash = hex(couplings_hash(run.problem));
  if (saved && saved->couplings_hash != run.couplings_hash) {
    throw InvalidInput("--couplings: the hash of these is " + run.couplings_hash + "; the run to be resumed has " +
                       saved->couplings_hash);
  }
  Result result = saved ? saved->result : Result{};
  result.device = choice.device;
  result.launch = simulation->launch();
  result.remark = simulation->remark();
  const nlohmann::ordered_json header = header_json(run, choice.device, result.launch);
  files.begin(header, run.problem);

  std::unique_ptr<RowJournal> journal;
  if (checkpoint) {
    // What was measured only because it was the end is nothing that a longer run measures.
    std::erase_if(result.averages, [&](const AveragesAt& at) { return !schedule.has(at.sweep); });
    if (saved->rows) {
      const auto add = [&](std::int64_t sweep, std::int64_t sample, const SampleObservables& observables) {
        if (schedule.has(sweep)) {
          files.add(sweep, sample, observables);
        }
      };
      journal = std::make_unique<RowJournal>(journal_path(*options.checkpoint), run.problem, *saved->rows, add);
    }
    checkpoint->restore(run.problem, *simulation);
    checkpoint.reset();  // with it goes the file, which would take room on the disk as long as it is open
  }

  if (!options.json) {
    report_device(out, choice.device, result.remark);
  }
  warm_up(*choice.platform, result.launch, run.problem);
  if (checkpointer) {
    Saved known{completed(options, run), std::string(stage()), choice.platform->name, run.couplings_hash, 0, {}, {}};
    Launch launch = result.launch;
    launch.transport = wish.transport;  // what is chosen for these ranks may not suit those of a resumed run
    known.options.launch = values_of(launch);
    checkpointer->begin(std::move(known), std::move(journal), run.problem, *simulation, result);
  }
  simulate(*simulation, run, schedule, files, checkpointer.get(), result);
  files.end(header, result.averages);
  if (options.json) {
    std::cout << text_of(result_json(run, result), 2) << '\n';
  } else {
    report(out, run, result);
  }
}

}  // namespace

int run(int argc, const char* const* argv) noexcept {
  CommandLine line(
      "Simulates the three-dimensional +-J spin glass (Edwards-Anderson) on a periodic cubic lattice by Metropolis\n"
      "dynamics: a sweep updates all sites of one checkerboard colour, then all of the other.",
      "spin_glass");
  Options options;
  declare(line, options);
  line.footer("The hash identifies the final state: every stage, device and launch gives the same.");
  return run_program(line, argc, argv, [&] { work(options); });
}

}  // namespace psflip::spin_glass
