#include "spin_glass/run/merge.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/invalid_input.hpp"
#include "app/state_hash.hpp"
#include "spin_glass/model/averages.hpp"
#include "spin_glass/run/report.hpp"
#include "spin_glass/run/run_files.hpp"
#include "spin_glass/run/sums_file.hpp"

namespace psflip::spin_glass {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t first_of(const Sums& job) { return job.run().problem.first_sample; }
std::int64_t end_of(const Sums& job) { return first_of(job) + job.run().problem.samples; }
std::string range(std::int64_t first, std::int64_t end) {
  return end - first == 1 ? "sample " + std::to_string(first)
                          : "samples " + std::to_string(first) + " to " + std::to_string(end - 1);
}

/// Throws unless all are parts of one run.
void refuse_foreign(const std::vector<Sums>& jobs) {
  constexpr std::array same{"--size",
                            "--sweeps",
                            "--replicas",
                            "--samples-per-stream",
                            "--generator",
                            "--seed",
                            "--start",
                            "--measure",
                            "--temperature",
                            "--beta",
                            "--temperatures",
                            "--exchange-every",
                            "--ferromagnetic-fraction"};
  constexpr std::array there_or_not{"--couplings", "--spins", "--correlations"};
  const Sums& one = jobs.front();
  for (const Sums& other : jobs) {
    const auto refuse = [&](const std::string& option, const std::string& is, const std::string& has) {
      throw InvalidInput(other.path() + ": a part of another run: its " + option + " is " + is + "; " + one.path() +
                         " has " + has);
    };
    for (const char* const option : same) {
      const Json &is = other.options().at(option), &has = one.options().at(option);
      if (is != has) refuse(option, is.dump(), has.dump());
    }
    for (const char* const option : there_or_not) {
      const auto given = [&](const Sums& job) {
        const Json& value = job.options().at(option);
        return value.is_null() || value.empty() ? "not given" : "given";
      };
      if (given(other) != std::string(given(one))) refuse(option, given(other), given(one));
    }
    const bool times = !one.run().problem.ladder && other.end().times != one.end().times;
    if (times || other.end().bins != one.end().bins) {
      throw InvalidInput(other.path() + ": not measured when " + one.path() + " was");
    }
  }
}

/// Throws unless the jobs, which come in the order of their samples, have each sample from `first` to `end` once.
void refuse_gaps(const std::vector<Sums>& jobs, std::int64_t first, std::int64_t end) {
  std::string wrong;
  const auto say = [&](const std::string& what) { wrong += (wrong.empty() ? "" : "; ") + what; };
  const Sums* before = nullptr;
  std::int64_t next = first;
  for (const Sums& job : jobs) {
    const std::int64_t from = first_of(job), to = end_of(job);
    if (from < first || to > end) {
      say(job.path() + " has " + range(from, to) + ", asked for are " + range(first, end));
    }
    if (from > next) say(range(next, std::min(from, end)) + " are in no file");
    if (before != nullptr && from < next) {
      say(before->path() + " and " + job.path() + " both have " + range(from, std::min(next, to)));
    }
    if (to > next) {
      next = to;
      before = &job;
    }
  }
  if (next < end) say(range(next, end) + " are in no file");
  if (!wrong.empty()) throw InvalidInput("--merge: " + wrong);
}

/// The problem of all, and what is written.
Run run_of_all(const std::vector<Sums>& jobs, const Options& given) {
  Run run = jobs.front().run();
  Problem& problem = run.problem;
  problem.first_sample = given.first_sample.value_or(first_of(jobs.front()));
  const std::int64_t end = given.samples ? problem.first_sample + *given.samples : end_of(jobs.back());
  refuse_gaps(jobs, problem.first_sample, end);
  problem.samples = end - problem.first_sample;
  run.outputs = given.outputs;
  run.coupling_files.clear();
  std::uint64_t hash = StateHash().value();
  for (const Sums& job : jobs) {
    const Run& part = job.run();
    run.coupling_files.insert(run.coupling_files.end(), part.coupling_files.begin(), part.coupling_files.end());
    if (part.spins != run.spins) run.spins = "";  // each its own
    const std::uint64_t of_part = std::stoull(part.couplings_hash, nullptr, 16);
    hash = StateHash::joined(hash, of_part, 3 * part.problem.samples * sites(problem));
    if (given.outputs.rows && job.end().times == 0) {
      throw InvalidInput("--output " + *given.outputs.rows + ": " + job.path() +
                         " has no rows, for its run had no --output");
    }
    if (given.outputs.correlations && !part.correlates()) {
      throw InvalidInput("--correlations " + *given.outputs.correlations + ": " + job.path() +
                         " has none, for its run had no --correlations");
    }
    if (given.outputs.distribution && !part.outputs.distribution) {
      throw InvalidInput("--distribution " + *given.outputs.distribution + ": " + job.path() +
                         " has none, for its run had no --distribution");
    }
  }
  run.couplings_hash = hex(hash);
  check(problem);
  return run;
}

/// What files begin with. Jobs may have run on different devices, and otherwise launched: then all of that is listed.
Json header_of_all(const std::vector<Sums>& jobs, const Run& run) {
  Json header = jobs.front().header();
  for (const char* const member : {"stage", "device", "launch"}) {
    Json different = Json::array();
    for (const Sums& job : jobs) {
      const Json& value = job.header().at(member);
      if (std::ranges::find(different, value) == different.end()) different.push_back(value);
    }
    header[member] = different.size() == 1 ? different.front() : different;
  }
  header["problem"] = problem_json(run);
  return header;
}

/// What was measured at all times, in all samples: to the files, and to the result.
void merge_times(std::vector<Sums>& jobs, const Run& run, RunFiles& files, Result& result) {
  if (run.problem.ladder && !run.outputs.rows) return;
  for (std::int64_t i = 0; i < jobs.front().end().times; ++i) {
    Averager averager(run.problem);
    std::int64_t sample = 0, sweep = -1;
    for (Sums& job : jobs) {
      const std::vector<std::int64_t> numbers = job.end().times > i ? job.time(i) : std::vector<std::int64_t>(1, -1);
      sweep = &job == &jobs.front() ? numbers[0] : sweep;
      if (numbers[0] != sweep) throw InvalidInput(job.path() + ": not measured when " + jobs.front().path() + " was");
      const Run& part = job.run();
      const std::int64_t of_sample = numbers_of_sample(part.problem, part.keeps_correlations());
      for (std::int64_t n = 0; n < part.problem.samples; ++n, ++sample) {
        const SampleObservables observables =
            sample_of(part.problem, std::span(numbers).subspan(1 + n * of_sample, of_sample));
        if (!run.problem.ladder) averager.add(observables);
        files.add(sweep, sample, observables);
      }
    }
    if (!run.problem.ladder) result.averages.push_back({sweep, averager.averages(), averager.correlations()});
  }
}

/// The numbers of functions in a bin, of which a run wants some: C4 and P of each group and temperature in turns.
std::vector<double> wanted_functions(std::span<const double> numbers, const Run& job, const LadderFunctions& wanted) {
  const LadderFunctions has = job.functions();
  const auto places = groups(job.problem) * temperatures(job.problem);
  const auto count = [&](const LadderFunctions& functions) {
    const std::size_t all = LadderBins::numbers_of(job.problem, functions) - LadderBins::numbers_of(job.problem);
    return static_cast<std::int64_t>(all) / places;
  };
  const std::int64_t c4 = count({.correlations = has.correlations}), p = count({.distribution = has.distribution});
  std::vector<double> result;
  for (std::int64_t place = 0; place < places; ++place) {
    const auto here = numbers.subspan(place * (c4 + p), c4 + p);
    if (wanted.correlations) result.insert(result.end(), here.begin(), here.begin() + c4);
    if (wanted.distribution) result.insert(result.end(), here.begin() + c4, here.end());
  }
  return result;
}

void merge_bins(std::vector<Sums>& jobs, const Run& run, Result& result) {
  if (!run.problem.ladder) return;
  result.ladder = LadderBins(run.problem, run.functions(), run.outputs.sums.has_value());
  constexpr auto common = static_cast<std::ptrdiff_t>(LadderBins::common_numbers());
  for (std::int64_t i = 0; i < jobs.front().end().bins; ++i) {
    std::vector<double> all, of_functions;
    for (Sums& job : jobs) {
      const std::vector<double> numbers = job.bin(i);
      if (all.empty()) all.assign(numbers.begin(), numbers.begin() + common);
      if (!std::equal(all.begin(), all.begin() + common, numbers.begin())) {
        throw InvalidInput(job.path() + ": not measured when " + jobs.front().path() + " was");
      }
      const auto samples_end = static_cast<std::ptrdiff_t>(LadderBins::numbers_of(job.run().problem));
      all.insert(all.end(), numbers.begin() + common, numbers.begin() + samples_end);
      const auto functions = wanted_functions(std::span(numbers).subspan(samples_end), job.run(), run.functions());
      of_functions.insert(of_functions.end(), functions.begin(), functions.end());
    }
    all.insert(all.end(), of_functions.begin(), of_functions.end());
    result.ladder.begin(std::move(all));
  }
}

}  // namespace

void merge(const Options& given) {
  std::vector<Sums> jobs;
  for (const std::string& path : given.merge) jobs.emplace_back(path);
  refuse_foreign(jobs);
  std::ranges::stable_sort(jobs, {}, first_of);
  const Run run = run_of_all(jobs, given);
  RunFiles files(run.outputs, run.problem.samples, {}, given.merge);
  if (files.writes_standard_output() && given.json) {
    throw InvalidInput("--json: standard output takes the JSON object or a file, not both");
  }
  std::ostream& out = files.writes_standard_output() ? std::cerr : std::cout;
  const Json header = header_of_all(jobs, run);
  files.begin(header, run);
  Result result;
  merge_times(jobs, run, files, result);
  merge_bins(jobs, run, result);
  std::uint64_t hash = StateHash().value();
  for (const Sums& job : jobs) {
    const SumsEnd& end = job.end();
    const Problem& part = job.run().problem;
    hash = StateHash::joined(hash, end.hash, part.samples * part.replicas * sites(part));
    result.energy += end.energy;
    result.magnetisation += end.magnetisation;
    result.seconds += end.seconds;
  }
  result.hash = hex(hash);
  files.end(header, run.problem, result);
  if (given.json) {
    std::cout << text_of(result_json(header, "", {}, run, result), 2) << '\n';
  } else {
    report(out, run, {}, result);
  }
}

}  // namespace psflip::spin_glass
