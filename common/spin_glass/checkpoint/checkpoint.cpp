#include "spin_glass/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "app/invalid_input.hpp"
#include "app/state_hash.hpp"
#include "random/minstd.hpp"
#include "spin_glass/checkpoint/json_value.hpp"
#include "spin_glass/model/schedule.hpp"

namespace psflip::spin_glass {
namespace {

using Json = nlohmann::ordered_json;

constexpr KindOfFile kind{"psFlip3D", "checkpoint"};
constexpr double none = std::numeric_limits<double>::quiet_NaN();

std::int64_t spins_of(const Problem& problem) { return problem.samples * problem.replicas * sites(problem); }

void expect(bool fine, const std::string& what) {
  if (!fine) throw InvalidInput(what + " cannot be right");
}

/// Numbers of a row of averages.
std::size_t row_width(const Run& run) {
  const auto of_correlations =
      run.correlates() ? 1 + static_cast<std::size_t>(distances(run.problem.size)) : std::size_t{0};
  return 1 + 2 * (averaged_names.size() + of_correlations);
}

void put_average(std::vector<double>& row, const std::optional<Average>& average) {
  row.push_back(average ? average->value : none);
  row.push_back(average ? average->error.value_or(none) : none);
}
/// Throws InvalidInput if these cannot be an average.
std::optional<Average> average_of(double value, double error) {
  expect(!std::isinf(value) && !std::isinf(error) && !(error < 0) && (!std::isnan(value) || std::isnan(error)),
         "an average");
  return std::isnan(value) ? std::nullopt
                           : std::optional(Average{value, std::isnan(error) ? std::nullopt : std::optional(error)});
}

/// Numbers of C4 and of P at a temperature of a ladder.
std::pair<std::size_t, std::size_t> lengths(const Run& run) {
  const auto [correlations, distribution] = run.functions();
  return {correlations ? distances(run.problem.size) : 0, distribution ? distribution_bins(run.problem.size) : 0};
}

std::size_t ladder_row_width(const Run& run) {
  const auto [of_c4, of_p] = lengths(run);
  return 4 + 2 * (ladder_names.size() + of_c4 + of_p);
}

std::vector<double> row_of(const LadderAverages& of) {
  std::vector<double> row;
  for (const std::int64_t number : {of.first, of.last, of.measurements, of.t})
    row.push_back(static_cast<double>(number));
  for (const auto& average : of.averages) put_average(row, average);
  for (const auto* const function : {&of.c4, &of.p})
    for (const Average& average : *function) put_average(row, average);
  return row;
}

LadderAverages ladder_averages_of(std::span<const double> row, const Run& run) {
  const auto whole = [&](std::size_t i, std::int64_t most) {
    expect(row[i] >= 0 && row[i] <= static_cast<double>(most) && row[i] == std::floor(row[i]), "a bin of averages");
    return static_cast<std::int64_t>(row[i]);
  };
  LadderAverages of{whole(0, most_sweeps),
                    whole(1, most_sweeps),
                    whole(2, most_sweeps),
                    whole(3, temperatures(run.problem) - 1),
                    {},
                    {},
                    {}};
  std::size_t next = 4;
  const auto take = [&] {
    next += 2;
    return average_of(row[next - 2], row[next - 1]);
  };
  for (auto& average : of.averages) average = take();
  const auto [of_c4, of_p] = lengths(run);
  while (of.c4.size() < of_c4) of.c4.push_back(take().value());
  while (of.p.size() < of_p) of.p.push_back(take().value());
  return of;
}

std::vector<double> row_of(const AveragesAt& at) {
  std::vector<double> row{static_cast<double>(at.sweep)};
  const auto put = [&](const std::optional<Average>& average) { put_average(row, average); };
  std::ranges::for_each(at.averages, put);
  if (at.correlations) {
    put(at.correlations->xi_12);
    std::ranges::for_each(at.correlations->c4, put);
  }
  return row;
}

/// Throws InvalidInput or std::bad_optional_access if the row of that sweep cannot be this.
AveragesAt averages_of(std::span<const double> row, std::int64_t sweep) {
  std::size_t next = 1;
  const auto take = [&]() -> std::optional<Average> {
    next += 2;
    return average_of(row[next - 2], row[next - 1]);
  };
  expect(row[0] == static_cast<double>(sweep), "the sweep of an average");
  AveragesAt at{sweep, {}};
  for (std::optional<Average>& average : at.averages) {
    average = take();
  }
  if (next < row.size()) {
    at.correlations.emplace();
    at.correlations->xi_12 = take();
    while (next < row.size()) {
      at.correlations->c4.push_back(take().value());
    }
  }
  return at;
}

/// Throws InvalidInput if no run can have saved this, the averages aside.
void check(const Saved& saved) {
  const Run& run = saved.run;
  const Problem& problem = run.problem;
  check(problem);
  const double beta = problem.beta, temperature = run.temperature.value_or(0);
  expect(problem.ladder    ? !run.temperature && beta == 1 / problem.ladder.temperatures.front()
         : run.temperature ? temperature > 0 && (1 / temperature == beta || temperature == 1 / beta)
                           : !std::isfinite(1 / beta),
         "--temperature");
  expect(problem.ladder.exchange_every >= 1, "--exchange-every");
  expect(!run.outputs.distribution || problem.ladder, "--distribution");
  expect(!problem.ladder || copies(problem) > 1 || (!run.outputs.correlations && !run.outputs.distribution),
         "--replicas");
  expect(run.sweeps >= 0 && run.sweeps <= most_sweeps, "--sweeps");
  expect(saved.sweeps >= 0 && saved.sweeps <= run.sweeps, "the number of sweeps");
  const auto none_or_one_a_sample = [&](const std::vector<std::string>& files) {
    return files.empty() || std::ssize(files) == problem.samples;
  };
  expect(none_or_one_a_sample(run.coupling_files), "--couplings");
  expect(none_or_one_a_sample(run.outputs.couplings), "--write-couplings");
  expect(
      run.couplings_hash.size() == 16 && run.couplings_hash.find_first_not_of("0123456789abcdef") == std::string::npos,
      "the couplings' hash");
  expect(saved.result.seconds >= 0, "the number of seconds");
  expect(saved.rows.has_value() == run.keeps_rows(), "the number of rows");
}

Json description(Saved saved, const std::filesystem::path& folder, const Simulation& simulation) {
  saved.run.for_each_file_name([&](std::string& name) { name = kept_name(name, folder); });
  Json rows;
  if (saved.rows) {
    rows = {{"records", saved.rows->records}, {"checksum", saved.rows->checksum}};
  }
  return {{"program", "spin_glass"},
          {"stage", saved.stage},
          {"platform", saved.platform},
          {"options", as_json(saved)},
          {"couplings_hash", saved.run.couplings_hash},
          {"sweeps", saved.sweeps},
          {"seconds", saved.result.seconds},
          {"energy", saved.result.energy},
          {"magnetisation", saved.result.magnetisation},
          {"averages", saved.run.problem.ladder ? saved.result.ladder.finished().size() : saved.result.averages.size()},
          {"stream_words", dynamic_cast<const Resumable&>(simulation).stream_words()},
          {"rows", rows}};
}

}  // namespace

Json parsed_description(const std::string& text) {
  int names = 0;
  return Json::parse(text, [&](int depth, Json::parse_event_t event, const Json&) {
    names += event == Json::parse_event_t::key ? 1 : 0;
    if (depth > 5 || names > 1000) throw InvalidInput("its description is too large");
    return true;
  });
}

void write_checkpoint(OutputFile& file, const Saved& saved, const Simulation& simulation) {
  const std::string text = description(saved, folder_of(file.path()), simulation).dump();
  DescribedOutput to(file, kind, text);
  for (const AveragesAt& at : saved.result.averages) {
    to.put(std::span<const double>(row_of(at)));
  }
  const LadderBins& ladder = saved.result.ladder;
  for (const LadderAverages& of : ladder.finished()) {
    to.put(std::span<const double>(row_of(of)));
  }
  to.put(ladder.numbers());
  for (const std::vector<double>& numbers : ladder.kept()) {
    to.put(std::span(numbers));
  }
  to.put_spins(simulation);
  const Exchanges exchanges = simulation.exchanges();
  for (const auto* numbers : {&exchanges.accepted, &exchanges.walkers}) {
    to.put(std::span(*numbers));
  }
  dynamic_cast<const Resumable&>(simulation).save_streams([&](std::span<const std::uint32_t> words) { to.put(words); });
  to.end();
}

Checkpoint::Checkpoint(std::string path) : file_(std::move(path), kind) {
  try {
    const Json json = parsed_description(file_.description());
    const auto take = [&]<class T>(const char* name, T& value) { value = value_in<T>(json.at(name)).value(); };
    saved_ = saved_of(json.at("options"));
    saved_.run.for_each_file_name([&](std::string& name) { name = name_here(name, folder_of(file_.path())); });
    take("stage", saved_.stage);
    take("platform", saved_.platform);
    take("couplings_hash", saved_.run.couplings_hash);
    take("sweeps", saved_.sweeps);
    take("seconds", saved_.result.seconds);
    take("energy", saved_.result.energy);
    take("magnetisation", saved_.result.magnetisation);
    if (const Json& rows = json.at("rows"); !rows.is_null()) {
      saved_.rows = {value_in<std::int64_t>(rows.at("records")).value(),
                     value_in<std::uint64_t>(rows.at("checksum")).value()};
    }
    check(saved_);
    const auto averages = value_in<std::int64_t>(json.at("averages")).value();
    if (saved_.run.problem.ladder)
      read_ladder(averages, file_.end() + 8);
    else
      read_averages(averages, file_.end() + 8);
    check_state(value_in<int>(json.at("stream_words")).value(), file_.end() + 8);
  } catch (const Json::exception&) {
    file_.refuse("not a checkpoint of spin_glass");
  } catch (const std::bad_optional_access&) {
    file_.refuse("not a checkpoint of spin_glass");
  } catch (const InvalidInput& wrong) {
    file_.refuse(std::string("not a checkpoint of spin_glass: ") + wrong.what());
  }
}

namespace {

Schedule schedule_of(const Run& run) {
  try {
    return {run.measure, run.sweeps};
  } catch (const InvalidInput&) {  // which repeats the rule, of any characters
    throw InvalidInput("--measure cannot be right");
  }
}

/// Whether a run that has measured last after `time` sweeps, -1 if never, can be saved after so many.
bool can_have_measured(const Schedule& schedule, std::int64_t time, std::int64_t done, std::int64_t sweeps) {
  return time <= done && (time < 0 || schedule.has(time)) && (time == sweeps || schedule.after(time) >= done);
}

}  // namespace

void Checkpoint::read_ladder(std::int64_t rows, std::int64_t length) {
  const Problem& problem = saved_.run.problem;
  const std::int64_t n = temperatures(problem);
  // As many numbers as there are bytes for; then nobody makes room for more.
  expect(problem.samples <= length / 8 && rows >= 0 && rows % n == 0 && rows <= 64 * n, "the number of averages");
  const LadderFunctions functions = saved_.run.functions();
  const auto numbers = LadderBins::numbers_of(problem, functions);
  const std::size_t width = ladder_row_width(saved_.run);
  const std::int64_t kept_bins = saved_.run.outputs.sums ? rows / n : 0;
  const std::int64_t doubles =
      rows * static_cast<std::int64_t>(width) + (1 + kept_bins) * static_cast<std::int64_t>(numbers);
  expect(doubles <= (length - file_.at()) / 8, "the number of averages");
  std::vector<LadderAverages> finished;
  std::vector<double> row(width), of_bin(numbers);
  for (std::int64_t i = 0; i < rows; ++i) {
    file_.read(row.data(), row.size() * sizeof(double));
    finished.push_back(ladder_averages_of(row, saved_.run));
    expect(finished.back().t == i % n, "a bin of averages");
  }
  file_.read(of_bin.data(), of_bin.size() * sizeof(double));
  std::vector<std::vector<double>> kept(static_cast<std::size_t>(kept_bins), std::vector<double>(numbers));
  for (std::vector<double>& one : kept) file_.read(one.data(), one.size() * sizeof(double));
  saved_.result.ladder = LadderBins(problem, functions, saved_.run.outputs.sums.has_value());
  saved_.result.ladder.resume(std::move(finished), std::move(of_bin), std::move(kept));
  const Schedule schedule = schedule_of(saved_.run);
  expect(can_have_measured(schedule, saved_.result.ladder.measured(), saved_.sweeps, saved_.run.sweeps),
         "the number of averages");
}

void Checkpoint::read_averages(std::int64_t count, std::int64_t length) {
  const Run& run = saved_.run;
  const Schedule schedule = schedule_of(run);
  std::vector<double> row(row_width(run));
  const auto row_bytes = static_cast<std::int64_t>(row.size() * sizeof(double));
  expect(count >= 0 && count <= (length - file_.at()) / row_bytes, "the number of averages");
  // A run goes on from the last of its measuring times: they are all there, up to the last sweep. There, it may not
  // have measured yet.
  std::int64_t time = -1;
  for (; count > 0; --count) {
    expect(time < saved_.sweeps, "the number of averages");
    time = schedule.after(time);
    file_.read(row.data(), row.size() * sizeof(double));
    saved_.result.averages.push_back(averages_of(row, time));
  }
  expect(can_have_measured(schedule, time, saved_.sweeps, run.sweeps), "the number of averages");
  expect(!saved_.rows || saved_.rows->records >= std::ssize(saved_.result.averages), "the number of rows");
}

void Checkpoint::check_state(int words, std::int64_t length) {
  const Problem& problem = saved_.run.problem;
  state_at_ = file_.at();
  expect(words == stream_words(problem.generator), "--generator");
  // As many lattices as there are bytes for; then no product is an overflow.
  expect(problem.samples * problem.replicas <= 8 * length / sites(problem), "the number of spins");
  const std::int64_t spins = spins_of(problem), streams = words * groups(problem) * sites(problem);
  const std::int64_t exchanges = problem.ladder ? 2 * 4 * problem.samples * problem.replicas : 0;
  expect(state_at_ + spins / 8 + exchanges + streams * 4 + 8 == length, "the number of spins");
  const auto& [seconds, hash, energy, magnetisation, averages, ladder] = saved_.result;
  expect(energy >= -3 * spins && energy <= 3 * spins, "the energy");
  expect(magnetisation >= -spins && magnetisation <= spins, "the magnetisation");
  if (problem.generator != Generator::minstd) return;  // the words of others may be any
  file_.seek(state_at_ + spins / 8 + exchanges);
  std::vector<std::uint32_t> part(1 << 14);
  for (std::int64_t rest = streams; rest > 0; rest -= std::ssize(part)) {
    part.resize(std::min<std::size_t>(part.size(), static_cast<std::size_t>(rest)));
    file_.read(part.data(), part.size() * sizeof part[0]);
    expect(std::ranges::all_of(part, [](std::uint32_t word) { return word >= 1 && word < Minstd::modulus; }),
           "the state of a random stream");
  }
}

void Checkpoint::restore(Simulation& simulation) {
  const Problem& problem = saved_.run.problem;
  file_.seek(state_at_);
  State state{problem.size, problem.samples, problem.replicas, {}, temperatures(problem), {}};
  state.spins = file_.read_spins(spins_of(problem));
  if (problem.ladder) {
    for (auto* numbers : {&state.exchanges.accepted, &state.exchanges.walkers}) {
      numbers->resize(static_cast<std::size_t>(problem.samples * problem.replicas));
      file_.read(numbers->data(), numbers->size() * sizeof(std::uint32_t));
    }
  }
  dynamic_cast<Resumable&>(simulation).resume(2 * saved_.sweeps, state, [&](std::span<std::uint32_t> words) {
    file_.read(words.data(), words.size_bytes());
  });
}

}  // namespace psflip::spin_glass
