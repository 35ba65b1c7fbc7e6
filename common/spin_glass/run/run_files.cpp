#include "spin_glass/run/run_files.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "app/files/file_names.hpp"
#include "app/invalid_input.hpp"
#include "spin_glass/checkpoint/checkpoint.hpp"
#include "spin_glass/model/edge_list.hpp"
#include "spin_glass/run/spins_file.hpp"

namespace psflip::spin_glass {
namespace {

/// A file that only the run of a checkpoint may write.
void refuse_journal(const std::string& path) {
  const std::string ending = journal_path("");
  if (!path.ends_with(ending)) return;
  const std::string checkpoint = path.substr(0, path.size() - ending.size());
  if (std::error_code ignored; std::filesystem::exists(checkpoint, ignored)) {
    throw InvalidInput(path + ": where the run of the checkpoint " + checkpoint + " keeps its rows");
  }
}

ResultTable::Cell cell(const std::optional<double>& value) { return value ? *value : ResultTable::Cell(); }

std::vector<std::string> row_columns(const Problem& problem) {
  std::vector<std::string> columns{"sweep", "sample", "replica", "energy", "magnetisation"};
  if (problem.ladder) columns = {"sweep", "sample", "copy", "temperature", "energy", "magnetisation"};
  for (std::int64_t b = 1; b < copies(problem); ++b) {
    columns.push_back("overlap_" + std::to_string(b));
  }
  return columns;
}

}  // namespace

RunFiles::RunFiles(const Outputs& outputs, std::int64_t samples, const std::vector<std::string>& others_written,
                   const std::vector<std::string>& read) {
  const auto wanted = static_cast<std::int64_t>(outputs.couplings.size());
  if (wanted > 0 && wanted != samples) {
    throw InvalidInput("--write-couplings has " + std::to_string(wanted) + (wanted == 1 ? " file" : " files") +
                       ": it takes one for each sample, and there are " + std::to_string(samples));
  }
  std::vector<std::string> written = outputs.couplings;
  for (const auto& path :
       {outputs.rows, outputs.averages, outputs.correlations, outputs.distribution, outputs.sums, outputs.spins}) {
    if (path) written.push_back(*path);
  }
  std::ranges::for_each(written, refuse_journal);
  written.insert(written.end(), others_written.begin(), others_written.end());
  refuse_twins(written, read);
  if (outputs.rows) {
    rows_.emplace("--output", *outputs.rows);
  }
  if (outputs.averages) {
    averages_.emplace("--averages", *outputs.averages);
  }
  if (outputs.correlations) {
    correlations_.emplace("--correlations", *outputs.correlations);
  }
  if (outputs.distribution) {
    distribution_.emplace("--distribution", *outputs.distribution);
  }
  if (outputs.sums) {
    sums_.emplace(*outputs.sums);
  }
  if (outputs.spins) {
    spins_.emplace(*outputs.spins);
  }
  for (const std::string& path : outputs.couplings) {
    couplings_.emplace_back(path);
  }
}

bool RunFiles::writes_standard_output() const {
  const auto tables = {&rows_, &averages_, &correlations_, &distribution_};
  return std::ranges::any_of(tables, [](auto* table) { return *table && (*table)->file().is_standard_output(); }) ||
         (sums_ && sums_->file().is_standard_output()) || (spins_ && spins_->is_standard_output()) ||
         std::ranges::any_of(couplings_, [](const OutputFile& file) { return file.is_standard_output(); });
}

void RunFiles::begin(const ResultTable::Header& header, const Run& run) {
  const Problem& problem = run.problem;
  first_sample_ = problem.first_sample;
  temperatures_ = problem.ladder.temperatures;
  std::int64_t sample = 0;
  for (OutputFile& file : couplings_) {
    write_edge_list(file, {problem.size, sample_couplings(problem, sample++)});
  }
  if (rows_) {
    rows_->write_header(header, row_columns(problem));
  }
  if (sums_) {
    sums_->begin(header, run);
  }
  flush();
}

void RunFiles::add(std::int64_t sweep, std::int64_t sample, const SampleObservables& observables) {
  if (sums_) {
    sums_->add(sweep, sample, observables);
  }
  if (!rows_) {
    return;
  }
  const auto replicas = static_cast<std::int64_t>(observables.energies.size());
  const std::int64_t n = temperatures_.empty() ? 1 : std::ssize(temperatures_), copies = replicas / n;
  for (std::int64_t replica = 0; replica < replicas; ++replica) {
    const std::int64_t a = replica / n, t = replica % n;
    std::vector<ResultTable::Cell> row{sweep, first_sample_ + sample, a};
    if (!temperatures_.empty()) row.emplace_back(temperatures_[t]);
    row.insert(row.end(), {observables.energies[replica], observables.magnetisations[replica]});
    const auto overlaps = std::ssize(row);
    row.resize(overlaps + copies - 1);
    for (std::int64_t b = a + 1; b < copies; ++b) {
      row[overlaps + b - 1] = observables.overlaps[pair_index(copies, a, b) * n + t];
    }
    rows_->write_row(row);
  }
}

void RunFiles::flush() {
  if (rows_) {
    rows_->file().flush();
  }
  if (sums_) {
    sums_->file().flush();
  }
}

void RunFiles::write_spins(ResultTable::Header header, const Simulation& simulation, const Result& result) {
  if (!spins_) return;
  header["hash"] = result.hash;
  spin_glass::write_spins(*spins_, header, simulation);
}

void RunFiles::end(const ResultTable::Header& header, const Problem& problem, const Result& result) {
  const std::vector<AveragesAt>& averages = result.averages;
  if (rows_) {
    rows_->write_end();
  }
  if (problem.ladder) {
    write_ladder(header, result.ladder.rows(), problem.size);
  } else if (averages_) {
    averages_->write_header(header, average_columns(averages.front()));
    for (const AveragesAt& at : averages) {
      averages_->write_row(average_row(at));
    }
    averages_->write_end();
  }
  if (correlations_ && !problem.ladder) {
    correlations_->write_header(header, {"sweep", "r", "c4", "c4_error"});
    for (const AveragesAt& at : averages) {
      const std::vector<Average>& c4 = at.correlations->c4;
      for (std::int64_t r = 0; r < std::ssize(c4); ++r) {
        correlations_->write_row({at.sweep, r, c4[r].value, cell(c4[r].error)});
      }
    }
    correlations_->write_end();
  }
  if (sums_) {
    sums_->end(result);
  }
  // All are written before any appears.
  for (std::optional<ResultTable>* const table : {&rows_, &averages_, &correlations_, &distribution_}) {
    if (*table) (*table)->file().commit();
  }
  if (sums_) {
    sums_->file().commit();
  }
  if (spins_) {
    spins_->commit();
  }
  for (OutputFile& file : couplings_) {
    file.commit();
  }
}

void RunFiles::write_ladder(const ResultTable::Header& header, const std::vector<LadderAverages>& rows,
                            std::int64_t size) {
  if (averages_) {
    averages_->write_header(header, ladder_columns());
    for (const LadderAverages& row : rows) averages_->write_row(ladder_row(row, temperatures_));
    averages_->write_end();
  }
  const auto write = [&](ResultTable& table, const std::string& x, const std::string& y, auto function, auto x_of) {
    table.write_header(header, {"sweep_first", "sweep", "measurements", "temperature", x, y, y + "_error"});
    for (const LadderAverages& row : rows) {
      std::int64_t i = 0;
      for (const Average& average : row.*function)
        table.write_row({row.first, row.last, row.measurements, temperatures_[row.t], x_of(i++), average.value,
                         cell(average.error)});
    }
    table.write_end();
  };
  if (correlations_)
    write(*correlations_, "r", "c4", &LadderAverages::c4, [](std::int64_t r) { return ResultTable::Cell(r); });
  if (distribution_)
    write(*distribution_, "q", "p", &LadderAverages::p,
          [&](std::int64_t bin) { return ResultTable::Cell(distribution_q(size, bin)); });
}

std::vector<std::pair<std::string, std::optional<Average>>> quantities(const AveragesAt& at) {
  std::vector<std::pair<std::string, std::optional<Average>>> all;
  for (std::size_t i = 0; i < averaged_names.size(); ++i) all.emplace_back(averaged_names[i], at.averages[i]);
  if (at.correlations) all.emplace_back("xi_12", at.correlations->xi_12);
  return all;
}

std::vector<std::string> average_columns(const AveragesAt& at) {
  std::vector<std::string> columns{"sweep"};
  for (const auto& [name, average] : quantities(at)) columns.insert(columns.end(), {name, name + "_error"});
  return columns;
}

std::vector<ResultTable::Cell> average_row(const AveragesAt& at) {
  std::vector<ResultTable::Cell> row{at.sweep};
  for (const auto& [name, average] : quantities(at)) {
    row.push_back(average ? average->value : ResultTable::Cell());
    row.push_back(average ? cell(average->error) : ResultTable::Cell());
  }
  return row;
}

std::vector<std::string> ladder_columns() {
  std::vector<std::string> columns{"sweep_first", "sweep", "measurements", "temperature"};
  for (const std::string_view name : ladder_names) {
    columns.emplace_back(name);
    columns.push_back(std::string(name) + "_error");
  }
  return columns;
}

std::vector<ResultTable::Cell> ladder_row(const LadderAverages& of, const std::vector<double>& temperatures) {
  std::vector<ResultTable::Cell> row{of.first, of.last, of.measurements, temperatures[of.t]};
  for (const std::optional<Average>& average : of.averages) {
    row.push_back(average ? average->value : ResultTable::Cell());
    row.push_back(average ? cell(average->error) : ResultTable::Cell());
  }
  return row;
}

}  // namespace psflip::spin_glass
