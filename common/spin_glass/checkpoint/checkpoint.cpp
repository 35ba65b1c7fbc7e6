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

static_assert(std::endian::native == std::endian::little, "the file's numbers are written as they are in memory");

using Json = nlohmann::ordered_json;

constexpr std::array<char, 8> magic{'p', 's', 'F', 'l', 'i', 'p', '3', 'D'};
constexpr std::uint32_t version = 1;
constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct Preamble {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t zero;
  std::uint64_t description_bytes;
};
static_assert(sizeof(Preamble) == 24);

constexpr std::int64_t spins_at_once = 1 << 20;

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

/// The text of a description. None is nested deeply or has many names, for which the library would take much of the
/// stack and of the time.
Json parsed(const std::string& text) {
  int names = 0;
  return Json::parse(text, [&](int depth, Json::parse_event_t event, const Json&) {
    names += event == Json::parse_event_t::key ? 1 : 0;
    if (depth > 5 || names > 1000) throw InvalidInput("its description is too large");
    return true;
  });
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
  expect(saved.rows.has_value() == run.outputs.rows.has_value(), "the number of rows");
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

void write_checkpoint(OutputFile& file, const Saved& saved, const Simulation& simulation) {
  Checksum checksum;
  const auto put = [&](const void* data, std::size_t bytes) {
    checksum.add(data, bytes);
    if (std::fwrite(data, 1, bytes, file.stream()) != bytes) {
      file.flush();  // throws
    }
  };
  const std::string text = description(saved, folder_of(file.path()), simulation).dump();
  const Preamble preamble{magic, version, 0, text.size()};
  put(&preamble, sizeof preamble);
  put(text.data(), text.size());
  for (const AveragesAt& at : saved.result.averages) {
    const std::vector<double> row = row_of(at);
    put(row.data(), row.size() * sizeof(double));
  }
  for (const LadderAverages& of : saved.result.ladder.finished()) {
    const std::vector<double> row = row_of(of);
    put(row.data(), row.size() * sizeof(double));
  }
  put(saved.result.ladder.numbers().data(), saved.result.ladder.numbers().size_bytes());
  std::vector<std::uint8_t> bits(spins_at_once / 8);
  take_state(simulation, [&](std::span<const Spin> spins) {  // of some lattices, and each is a whole number of bytes
    for (std::int64_t first = 0; first < std::ssize(spins); first += spins_at_once) {
      const std::int64_t count = std::min(spins_at_once, std::ssize(spins) - first);
      std::ranges::fill(bits, 0);
      for (std::int64_t i = 0; i < count; ++i) {
        bits[i / 8] |= static_cast<std::uint8_t>((spins[first + i] > 0) << i % 8);
      }
      put(bits.data(), count / 8);
    }
  });
  const Exchanges exchanges = simulation.exchanges();
  for (const auto* numbers : {&exchanges.accepted, &exchanges.walkers}) {
    put(numbers->data(), numbers->size() * sizeof(std::uint32_t));
  }
  dynamic_cast<const Resumable&>(simulation).save_streams([&](std::span<const std::uint32_t> words) {
    put(words.data(), words.size_bytes());
  });
  const std::uint64_t sum = checksum.value();
  put(&sum, sizeof sum);
  file.flush();
}

Checkpoint::Checkpoint(std::string path) : path_(std::move(path)) {
  std::error_code error;
  const auto status = std::filesystem::status(path_, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    refuse("a checkpoint is a regular file");
  }
  file_.reset(std::fopen(path_.c_str(), "rb"));
  if (!file_) {
    refuse(std::string("cannot be opened: ") + std::strerror(errno));
  }
  Preamble preamble{};
  if (std::fread(&preamble, 1, sizeof preamble, file_.get()) < sizeof preamble || preamble.magic != magic) {
    refuse("not a checkpoint of spin_glass");
  }
  if (preamble.version != version) {
    refuse("a checkpoint of version " + std::to_string(preamble.version) + "; this program has version " +
           std::to_string(version));
  }

  // Nothing is believed before all of it has been seen.
  Checksum checksum;
  std::uint64_t found = 0;
  std::vector<char> part(1 << 16);
  const auto length = static_cast<std::size_t>(std::filesystem::file_size(path_, error));
  if (error) refuse("cannot be read: " + error.message());
  if (length < sizeof preamble + sizeof found) {
    refuse("damaged: it is too short");
  }
  std::rewind(file_.get());
  for (std::size_t rest = length - sizeof found; rest > 0;) {
    const std::size_t bytes = std::min(rest, part.size());
    read(part.data(), bytes);
    checksum.add(part.data(), bytes);
    rest -= bytes;
  }
  read(&found, sizeof found);
  if (found != checksum.value() || preamble.zero != 0 ||
      preamble.description_bytes > length - sizeof preamble - sizeof found) {
    refuse("damaged: the checksum is not that of its content");
  }

  std::fseek(file_.get(), sizeof preamble, SEEK_SET);
  std::string text(preamble.description_bytes, '\0');
  read(text.data(), text.size());
  try {
    const Json json = parsed(text);
    const auto take = [&]<class T>(const char* name, T& value) { value = value_in<T>(json.at(name)).value(); };
    saved_ = saved_of(json.at("options"));
    saved_.run.for_each_file_name([&](std::string& name) { name = name_here(name, folder_of(path_)); });
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
      read_ladder(averages, static_cast<std::int64_t>(length));
    else
      read_averages(averages, static_cast<std::int64_t>(length));
    check_state(value_in<int>(json.at("stream_words")).value(), static_cast<std::int64_t>(length));
  } catch (const Json::exception&) {
    refuse("not a checkpoint of spin_glass");
  } catch (const std::bad_optional_access&) {
    refuse("not a checkpoint of spin_glass");
  } catch (const InvalidInput& wrong) {
    refuse(std::string("not a checkpoint of spin_glass: ") + wrong.what());
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
  const std::int64_t doubles = rows * static_cast<std::int64_t>(width) + static_cast<std::int64_t>(numbers);
  expect(doubles <= (length - std::ftell(file_.get())) / 8, "the number of averages");
  std::vector<LadderAverages> finished;
  std::vector<double> row(width), of_bin(numbers);
  for (std::int64_t i = 0; i < rows; ++i) {
    read(row.data(), row.size() * sizeof(double));
    finished.push_back(ladder_averages_of(row, saved_.run));
    expect(finished.back().t == i % n, "a bin of averages");
  }
  read(of_bin.data(), of_bin.size() * sizeof(double));
  saved_.result.ladder = LadderBins(problem, functions);
  saved_.result.ladder.resume(std::move(finished), std::move(of_bin));
  const Schedule schedule = schedule_of(saved_.run);
  expect(can_have_measured(schedule, saved_.result.ladder.measured(), saved_.sweeps, saved_.run.sweeps),
         "the number of averages");
}

void Checkpoint::read_averages(std::int64_t count, std::int64_t length) {
  const Run& run = saved_.run;
  const Schedule schedule = schedule_of(run);
  std::vector<double> row(row_width(run));
  const auto row_bytes = static_cast<std::int64_t>(row.size() * sizeof(double));
  expect(count >= 0 && count <= (length - std::ftell(file_.get())) / row_bytes, "the number of averages");
  // A run goes on from the last of its measuring times: they are all there, up to the last sweep. There, it may not
  // have measured yet.
  std::int64_t time = -1;
  for (; count > 0; --count) {
    expect(time < saved_.sweeps, "the number of averages");
    time = schedule.after(time);
    read(row.data(), row.size() * sizeof(double));
    saved_.result.averages.push_back(averages_of(row, time));
  }
  expect(can_have_measured(schedule, time, saved_.sweeps, run.sweeps), "the number of averages");
  expect(!saved_.rows || saved_.rows->records >= std::ssize(saved_.result.averages), "the number of rows");
}

void Checkpoint::check_state(int words, std::int64_t length) {
  const Problem& problem = saved_.run.problem;
  state_at_ = std::ftell(file_.get());
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
  std::fseek(file_.get(), state_at_ + spins / 8 + exchanges, SEEK_SET);
  std::vector<std::uint32_t> part(1 << 14);
  for (std::int64_t rest = streams; rest > 0; rest -= std::ssize(part)) {
    part.resize(std::min<std::size_t>(part.size(), static_cast<std::size_t>(rest)));
    read(part.data(), part.size() * sizeof part[0]);
    expect(std::ranges::all_of(part, [](std::uint32_t word) { return word >= 1 && word < Minstd::modulus; }),
           "the state of a random stream");
  }
}

void Checkpoint::restore(Simulation& simulation) {
  const Problem& problem = saved_.run.problem;
  std::fseek(file_.get(), state_at_, SEEK_SET);
  State state{problem.size, problem.samples, problem.replicas, {}, temperatures(problem), {}};
  state.spins.resize(spins_of(problem));
  std::vector<std::uint8_t> bits(spins_at_once / 8);
  for (std::int64_t first = 0; first < std::ssize(state.spins); first += spins_at_once) {
    const std::int64_t count = std::min(spins_at_once, std::ssize(state.spins) - first);
    read(bits.data(), count / 8);
    for (std::int64_t i = 0; i < count; ++i) {
      state.spins[first + i] = bits[i / 8] >> i % 8 & 1 ? 1 : -1;
    }
  }
  if (problem.ladder) {
    for (auto* numbers : {&state.exchanges.accepted, &state.exchanges.walkers}) {
      numbers->resize(static_cast<std::size_t>(problem.samples * problem.replicas));
      read(numbers->data(), numbers->size() * sizeof(std::uint32_t));
    }
  }
  dynamic_cast<Resumable&>(simulation).resume(2 * saved_.sweeps, state, [&](std::span<std::uint32_t> words) {
    read(words.data(), words.size_bytes());
  });
}

void Checkpoint::read(void* to, std::size_t bytes) {
  if (std::fread(to, 1, bytes, file_.get()) != bytes) {
    refuse("cannot be read, or is being changed");
  }
}

void Checkpoint::refuse(const std::string& why) const { throw InvalidInput(path_ + ": " + why); }

}  // namespace psflip::spin_glass
