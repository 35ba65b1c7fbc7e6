#include "spin_glass/program.hpp"

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
#include "spin_glass/averages.hpp"
#include "spin_glass/checkpoint.hpp"
#include "spin_glass/checkpointer.hpp"
#include "spin_glass/observables.hpp"
#include "spin_glass/options.hpp"
#include "spin_glass/platforms.hpp"
#include "spin_glass/report.hpp"
#include "spin_glass/result_table.hpp"
#include "spin_glass/row_journal.hpp"
#include "spin_glass/run.hpp"
#include "spin_glass/run_files.hpp"
#include "spin_glass/schedule.hpp"
#include "spin_glass/simulate.hpp"

namespace psflip::spin_glass {
namespace {

using AllCouplings = std::vector<std::vector<Coupling>>;  // [sample][3 s + d]

/// Throws InvalidInput if the host's memory cannot hold the spins and couplings, here and, unless the engine keeps its
/// own on a GPU, there, and what is measured. The engine checks for itself the memory of its device.
void refuse_large_problem(const Run& run, const Schedule& schedule, const std::string& platform) {
  const Problem& problem = run.problem;
  const auto of = [](std::int64_t number) { return static_cast<double>(number); };
  const double lattices = of(problem.samples) * of(sites(problem)) * (of(problem.replicas) + 3);
  const double averages = sizeof(AveragesAt) + (run.correlations ? of(distances(problem.size)) * sizeof(Average) : 0);
  const double needed = lattices * (platform == "gpu" ? 1 : 2) + of(problem.samples) * sizeof(double) * 5 +
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

std::shared_ptr<const AllCouplings> couplings_of(const Problem& problem) {
  if (problem.given_couplings) {
    return problem.given_couplings;
  }
  auto couplings = std::make_shared<AllCouplings>();
  for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
    couplings->push_back(sample_couplings(problem, sample));
  }
  return couplings;
}

/// A device's first launch also loads the kernel. A small problem takes that out of the measured time: one sample, of a
/// size that the launch can do.
void warm_up(const Platform& platform, const Launch& launch, const Problem& problem) {
  Problem small = problem;
  small.given_couplings.reset();
  small.samples = 1;
  if (!launch.cluster) {  // the shape of a cluster is made for the size
    small.size = 16;
  }
  platform.make_simulation(small, launch)->advance(2);
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
  if (saved != nullptr && !has_wish(given) && (saved->stage != stage() || saved->platform != choice.platform->name)) {
    set_launch(options, {});
  }
  return make_wish(options, choice.device.index);
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
  refuse_large_problem(run, schedule, choice.platform->name);
  RunFiles files = open_files(options, run);
  if (files.writes_standard_output() && options.json) {
    throw InvalidInput("--json: standard output takes the JSON object or a file, not both");
  }
  std::ostream& out = files.writes_standard_output() ? std::cerr : std::cout;

  const std::unique_ptr<Simulation> simulation =
      choice.platform->make_simulation(run.problem, wish_for(given, options, saved, choice));
  if (checkpointer && !simulation->can_resume()) {
    throw InvalidInput("--checkpoint: the random streams of " + std::string(name(run.problem.generator)) +
                       " are cuRAND's own and cannot be continued; take another --generator");
  }
  const std::shared_ptr<const AllCouplings> couplings = couplings_of(run.problem);
  run.couplings_hash = hex(couplings_hash(*couplings));
  if (saved && saved->couplings_hash != run.couplings_hash) {
    throw InvalidInput("--couplings: the hash of these is " + run.couplings_hash + "; the run to be resumed has " +
                       saved->couplings_hash);
  }
  Result result = saved ? saved->result : Result{};
  result.device = choice.device;
  result.launch = simulation->launch();
  const nlohmann::ordered_json header = header_json(run, choice.device, result.launch);
  files.begin(header, run.problem, *couplings);

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
    report_device(out, choice.device);
  }
  warm_up(*choice.platform, result.launch, run.problem);
  if (checkpointer) {
    Saved known{completed(options, run), std::string(stage()), choice.platform->name, run.couplings_hash, 0, {}, {}};
    set_launch(known.options, result.launch);
    checkpointer->begin(std::move(known), std::move(journal), run.problem, *simulation, result);
  }
  simulate(*simulation, run, schedule, *couplings, files, checkpointer.get(), result);
  files.end(header, result.averages);
  if (options.json) {
    std::cout << text_of(result_json(run, result), 2) << '\n';
  } else {
    report(out, run, result);
  }
}

}  // namespace

int run(int argc, const char* const* argv) noexcept {
  CLI::App app(
      "Simulates the three-dimensional +-J spin glass (Edwards-Anderson) on a periodic cubic lattice by Metropolis\n"
      "dynamics: a sweep updates all sites of one checkerboard colour, then all of the other.",
      "spin_glass");
  Options options;
  declare(app, options);
  app.footer("The hash identifies the final state: every stage, device and launch gives the same.");
  return run_program(app, argc, argv, [&] { work(options); });
}

}  // namespace psflip::spin_glass
