#include "spin_glass/run/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iomanip>
#include <string>
#include <vector>

#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/run/run_files.hpp"

namespace psflip::spin_glass {
namespace {

using Json = nlohmann::ordered_json;

double spins(const Problem& problem) {
  return static_cast<double>(problem.samples) * static_cast<double>(problem.replicas) *
         static_cast<double>(sites(problem));
}

double ps_per_flip(const Run& run, const Result& result) {
  return 1e12 * result.seconds / static_cast<double>(run.sweeps) / spins(run.problem);
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json row_json(const std::vector<std::string>& columns, const std::vector<ResultTable::Cell>& cells) {
  Json row = Json::object();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    row[columns[i]] = as_json(cells[i]);
  }
  return row;
}

Json averages_json(const Run& run, const Result& result) {
  Json rows = Json::array();
  for (const AveragesAt& at : result.averages) rows.push_back(row_json(average_columns(at), average_row(at)));
  for (const LadderAverages& row : result.ladder.rows())
    rows.push_back(row_json(ladder_columns(), ladder_row(row, run.problem.ladder.temperatures)));
  return rows;
}

std::string counted(std::int64_t count, const std::string& what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

/// "-1.6454(11)": the value with the error of its last digits, or the value alone if there is no error.
std::string with_error(const Average& average) {
  char text[64];
  const double error = average.error.value_or(0);
  if (error > 0) {
    const int decimals = std::max(0, 1 - static_cast<int>(std::floor(std::log10(error))));  // two digits of the error
    std::snprintf(text, sizeof text, "%.*f(%.0f)", decimals, average.value, std::round(error * std::pow(10, decimals)));
  } else {
    std::snprintf(text, sizeof text, "%.5g", average.value);
  }
  return text;
}

void report_averages(std::ostream& out, const std::vector<AveragesAt>& averages) {
  out << "averages over samples; in brackets: the error of the last digits\n" << std::setw(10) << "sweep";
  for (const auto& [name, average] : quantities(averages.front())) {
    out << std::setw(15) << name;
  }
  for (const AveragesAt& at : averages) {
    out << '\n' << std::setw(10) << at.sweep;
    for (const auto& [name, average] : quantities(at)) {
      out << std::setw(15) << (average ? with_error(*average) : "-");
    }
  }
  out << '\n';
}

/// The last bin.
void report_ladder(std::ostream& out, const std::vector<LadderAverages>& rows,
                   const std::vector<double>& temperatures) {
  const LadderAverages& last = rows.back();
  out << "averages over sweeps " << last.first << " to " << last.last << ", "
      << counted(last.measurements, "measurement") << ", and samples; in brackets: the error of the last digits\n"
      << std::setw(10) << "T";
  for (const std::string_view name : ladder_names) out << std::setw(15) << name;
  for (const LadderAverages& row : rows) {
    if (row.last != last.last) continue;
    out << '\n' << std::setw(10) << temperatures[row.t];
    for (const auto& average : row.averages) out << std::setw(15) << (average ? with_error(*average) : "-");
  }
  out << '\n';
}

}  // namespace

Json problem_json(const Run& run) {
  const Problem& problem = run.problem;
  const bool given = !run.coupling_files.empty();
  Json json = {
      {"size", problem.size},
      {"beta", problem.beta},
      {"temperature", or_null(run.temperature)},
      {"sweeps", run.sweeps},
      {"samples", problem.samples},
      {"first_sample", problem.first_sample},
      {"replicas", problem.replicas},
      {"samples_per_stream", problem.samples_per_stream},
      {"generator", name(problem.generator)},
      {"seed", problem.seed},
      {"start", run.spins ? Json() : Json(name(problem.start))},
      {"spins", or_null(run.spins)},
      {"ferromagnetic_fraction", given ? Json() : Json(problem.ferromagnetic_fraction)},
      {"couplings", given ? Json(run.coupling_files) : Json()},
      {"couplings_hash", run.couplings_hash},
      {"measure", run.measure},
  };
  if (problem.ladder) {
    json["beta"] = Json();
    json["temperatures"] = problem.ladder.temperatures;
    json["copies"] = copies(problem);
    json["exchange_every"] = problem.ladder.exchange_every;
  }
  return json;
}

Json header_json(const Run& run, const DeviceReport& device, const Launch& launch) {
  return {
      {"program", "spin_glass"},
      {"stage", stage()},
      {"problem", problem_json(run)},
      {"device", {{"name", device.name}, {"platform", device.platform}, {"index", device.index}}},
      {"launch", json_of<Json>(launch)},
  };
}

Json result_json(Json object, const std::string& remark, const Tried& tried, const Run& run, const Result& result) {
  if (!remark.empty()) {
    object["remark"] = remark;
  }
  if (tried.launches > 0) {
    object["tried"] = {{"launches", tried.launches}, {"seconds", tried.seconds}, {"earlier", tried.earlier}};
  }
  object["seconds"] = result.seconds;
  object["ps_per_flip"] = run.sweeps > 0 ? Json(ps_per_flip(run, result)) : Json();
  object["hash"] = result.hash;
  object["magnetisation"] = result.magnetisation;
  object["energy"] = result.energy;
  object["magnetisation_per_site"] = static_cast<double>(result.magnetisation) / spins(run.problem);
  object["energy_per_site"] = static_cast<double>(result.energy) / spins(run.problem);
  object["averages"] = averages_json(run, result);
  return object;
}

void report_device(std::ostream& out, const DeviceReport& device, const std::string& remark) {
  out << "device      " << device.name << " (" << device.platform << ' ' << device.index << "), stage " << stage()
      << '\n';
  if (!remark.empty()) {
    out << "            " << remark << '\n';
  }
  out << std::flush;
}

void report(std::ostream& out, const Run& run, const Launch& launch, const Result& result) {
  const Problem& problem = run.problem;
  out << "problem     " << problem.size << " x " << problem.size << " x " << problem.size << " spins, "
      << counted(problem.samples, "sample")
      << (problem.first_sample > 0 ? " from number " + std::to_string(problem.first_sample) + " on" : "") << " of "
      << counted(problem.replicas, "replica") << ", " << counted(run.sweeps, "sweep");
  if (problem.ladder) {
    out << ", " << copies(problem) << " at each of " << temperatures(problem) << " temperatures from "
        << problem.ladder.temperatures.front() << " to " << problem.ladder.temperatures.back() << ", exchanged every "
        << counted(problem.ladder.exchange_every, "sweep");
  } else {
    out << " at beta = " << problem.beta;
  }
  if (run.temperature) {
    out << " (T = " << *run.temperature << ")";
  }
  out << ", " << name(problem.generator) << ", seed " << problem.seed << ", "
      << (run.spins ? "spins of " + *run.spins : std::string(name(problem.start)) + " start") << '\n';
  out << "couplings   ";
  if (run.coupling_files.empty()) {
    out << "random, P(+1) = " << problem.ferromagnetic_fraction << ", ";
  }
  for (const std::string& path : run.coupling_files) {
    out << path << ", ";
  }
  out << "hash " << run.couplings_hash << '\n';
  if (problem.ladder) {
    out << "ladder     ";  // as --temperatures takes it
    for (char separator = ' '; const double temperature : problem.ladder.temperatures) {
      out << separator << Json(temperature).dump();
      separator = ',';
    }
    out << '\n';
  }
  if (!values_of(launch).empty()) {
    out << "launch      " << in_words(launch) << words_of(launch.tried) << '\n';
  }
  if (run.sweeps > 0) {
    out << "time        " << 1e3 * result.seconds / static_cast<double>(run.sweeps) << " ms per sweep, "
        << ps_per_flip(run, result) << " ps per flip\n";
  }
  out << "hash        " << result.hash << '\n';
  out << "M           " << result.magnetisation << " (" << static_cast<double>(result.magnetisation) / spins(problem)
      << " per site)\n";
  out << "E           " << result.energy << " (" << static_cast<double>(result.energy) / spins(problem)
      << " per site)\n\n";
  if (problem.ladder)
    report_ladder(out, result.ladder.rows(), problem.ladder.temperatures);
  else
    report_averages(out, result.averages);
}

}  // namespace psflip::spin_glass
