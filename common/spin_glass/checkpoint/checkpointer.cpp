#include "spin_glass/checkpoint/checkpointer.hpp"

#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include "app/invalid_input.hpp"
#include "app/text.hpp"

namespace psflip::spin_glass {

Checkpointer::Checkpointer(std::string path, bool resumed) : path_(std::move(path)), lock_(path_) {
  std::error_code ignored;
  if (!resumed && std::filesystem::exists(path_, ignored)) {
    throw InvalidInput("--checkpoint " + path_ + ": it exists; continue it with --resume, or remove it");
  }
  const std::filesystem::file_status rows = std::filesystem::status(journal_path(path_), ignored);
  if (std::filesystem::exists(rows) && !std::filesystem::is_regular_file(rows)) {
    throw InvalidInput(journal_path(path_) + ": no regular file, as the rows of the run have to be");
  }
  if (!resumed && std::filesystem::exists(rows)) {
    throw InvalidInput("--checkpoint " + path_ + ": " + journal_path(path_) +
                       " exists, the rows of a run whose checkpoint is not here; remove it, or take another name");
  }
  file_.emplace(path_);
}

void Checkpointer::set_interval(const std::string& every) {
  constexpr std::int64_t most = 1'000'000'000;
  const char unit = every.empty() ? ' ' : every.back();
  const bool by_time = unit == 'm' || unit == 'h';
  const auto number = number_in<std::int64_t>(std::string_view(every).substr(0, every.size() - by_time));
  if (!number || *number < 1 || *number > most) {
    throw InvalidInput("--checkpoint-every is " + every + ": allowed are N sweeps, Nm minutes and Nh hours, N = 1 to " +
                       std::to_string(most));
  }
  every_sweeps_ = by_time ? 0 : *number;
  if (by_time) every_time_ = std::chrono::minutes(unit == 'h' ? 60 * *number : *number);
}

void Checkpointer::begin(Saved known, std::unique_ptr<RowJournal> journal, const Simulation& simulation) {
  saved_ = std::move(known);
  journal_ = std::move(journal);
  const bool needs_journal = saved_.run.keeps_rows() && !journal_;
  if (needs_journal) {
    saved_.rows.emplace();  // nothing
  }
  save(simulation, saved_.result);
  if (needs_journal) {
    journal_ = std::make_unique<RowJournal>(journal_path(path_), saved_.run.problem, RowJournal::Extent(), nullptr,
                                            saved_.run.keeps_correlations());
  }
  interruption_.emplace();
}

std::int64_t Checkpointer::next(std::int64_t sweeps) const {
  return every_sweeps_ > 0 ? (sweeps / every_sweeps_ + 1) * every_sweeps_ : std::numeric_limits<std::int64_t>::max();
}

bool Checkpointer::is_due(std::int64_t sweeps) const {
  const bool by_now = every_sweeps_ > 0 ? sweeps >= next(saved_.sweeps) : Clock::now() - saved_when_ >= every_time_;
  return by_now || interruption_->signal() != 0;
}

void Checkpointer::save(const Simulation& simulation, const Result& result) {
  saved_.sweeps = simulation.half_sweeps() / 2;
  saved_.result = result;
  if (journal_) {
    saved_.rows = journal_->synchronise();
  }
  write_checkpoint(*file_, saved_, simulation);
  file_->commit();
  file_.reset();
  file_.emplace(path_);
  saved_when_ = Clock::now();
}

void Checkpointer::end_if_interrupted() const {
  if (const int signal = interruption_->signal(); signal != 0) {
    throw Interrupted("ended by signal " + std::to_string(signal) + " after " + std::to_string(saved_.sweeps) + " of " +
                          std::to_string(saved_.run.sweeps) + " sweeps; --resume " + path_ + " continues",
                      signal);
  }
}

void Checkpointer::add(std::int64_t sweep, std::int64_t sample, const SampleObservables& observables) {
  if (journal_) {
    journal_->add(sweep, sample, observables);
  }
}

void Checkpointer::flush() {
  if (journal_) {
    journal_->flush();
  }
}

}  // namespace psflip::spin_glass
