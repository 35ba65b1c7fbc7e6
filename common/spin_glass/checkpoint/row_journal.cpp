#include "spin_glass/checkpoint/row_journal.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "app/invalid_input.hpp"

namespace psflip::spin_glass {

RowJournal::RowJournal(std::string path, const Problem& problem, const Extent& extent, const Row& row,
                       bool correlations)
    : path_(std::move(path)), correlations_(correlations) {
  const std::int64_t samples = problem.samples;
  const std::int64_t per_sample = numbers_of_sample(problem, correlations), per_record = 1 + samples * per_sample;
  if (extent.records == 0) {
    open("wb");
    return;
  }
  open("r+b");
  // Twice: nothing is done with numbers that are not known to be right.
  Checksum checksum;
  std::vector<std::int64_t> part(static_cast<std::size_t>(per_sample));
  const auto read = [&](std::size_t count) {
    if (std::fread(part.data(), sizeof(std::int64_t), count, file_.get()) != count) {
      throw InvalidInput(path_ + ": not the rows that the checkpoint goes with; they are shorter");
    }
    checksum.add(part.data(), count * sizeof(std::int64_t));
  };
  std::int64_t last = -1;
  bool ascending = true;
  for (std::int64_t record = 0; record < extent.records; ++record) {
    read(1);
    ascending = ascending && part[0] > last;
    last = part[0];
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      read(part.size());
    }
  }
  if (checksum.value() != extent.checksum || !ascending) {
    throw InvalidInput(path_ + ": not the rows that the checkpoint goes with, or damaged");
  }
  checksum_ = checksum;
  std::rewind(file_.get());
  for (; records_ < extent.records; ++records_) {
    read(1);
    const std::int64_t sweep = part[0];
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      read(part.size());
      row(sweep, sample, sample_of(problem, part));
    }
  }
  const std::int64_t bytes = records_ * per_record * static_cast<std::int64_t>(sizeof(std::int64_t));
  if (std::fseek(file_.get(), bytes, SEEK_SET) != 0 || ftruncate(fileno(file_.get()), bytes) != 0) {
    fail();
  }
}

void RowJournal::add(std::int64_t sweep, std::int64_t sample, const SampleObservables& observables) {
  if (sample == 0) {
    put(sweep);
    ++records_;
  }
  for_each_number(observables, correlations_, [&](std::int64_t number) { put(number); });
}

void RowJournal::flush() {
  if (std::fflush(file_.get()) != 0 || std::ferror(file_.get()) != 0) {
    fail();
  }
}

RowJournal::Extent RowJournal::synchronise() {
  flush();
  if (fsync(fileno(file_.get())) != 0) {
    fail();
  }
  return {records_, checksum_.value()};
}

void RowJournal::open(const char* mode) {
  file_.reset(std::fopen(path_.c_str(), mode));
  if (file_ == nullptr) {
    throw InvalidInput(path_ + ": the rows of the run cannot be opened: " + std::strerror(errno));
  }
}

/// An error is remembered by the stream, and flush() throws it.
void RowJournal::put(std::int64_t number) {
  std::fwrite(&number, sizeof number, 1, file_.get());
  checksum_.add(&number, sizeof number);
}

void RowJournal::fail() const { throw InvalidInput(path_ + ": cannot be written: " + std::strerror(errno)); }

}  // namespace psflip::spin_glass
