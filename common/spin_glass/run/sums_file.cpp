#include "spin_glass/run/sums_file.hpp"

#include <utility>

#include "app/invalid_input.hpp"
#include "spin_glass/checkpoint/checkpoint.hpp"
#include "spin_glass/checkpoint/json_value.hpp"
#include "spin_glass/run/result_table.hpp"

namespace psflip::spin_glass {
namespace {

constexpr KindOfFile kind{"psFlipSm", "file of sums"};
static_assert(sizeof(SumsEnd) == 48);

}  // namespace

void SumsOutput::begin(const nlohmann::ordered_json& header, const Run& run) {
  rows_ = run.keeps_rows();
  correlations_ = run.keeps_correlations();
  Saved saved;
  saved.run = run;
  out_.emplace(file_, kind, text_of({{"header", header}, {"options", as_json(saved)}}));
}

void SumsOutput::add(std::int64_t sweep, std::int64_t sample, const SampleObservables& observables) {
  if (!rows_) return;
  std::vector<std::int64_t> numbers;
  if (sample == 0) {
    numbers.push_back(sweep);
    ++times_;
  }
  for_each_number(observables, correlations_, [&](std::int64_t number) { numbers.push_back(number); });
  out_->put(std::span<const std::int64_t>(numbers));
}

void SumsOutput::end(const Result& result) {
  SumsEnd end{times_,
              std::ssize(result.ladder.kept()),
              result.energy,
              result.magnetisation,
              std::stoull(result.hash, nullptr, 16),
              result.seconds};
  for (const std::vector<double>& bin : result.ladder.kept()) out_->put(std::span(bin));
  if (result.ladder.measured() >= 0) {
    out_->put(result.ladder.numbers());
    ++end.bins;
  }
  out_->put(&end, sizeof end);
  out_->end();
}

Sums::Sums(const std::string& path) : file_(path, kind) {
  try {
    auto description = parsed_description(file_.description());
    header_ = std::move(description.at("header"));
    options_ = std::move(description.at("options"));
    run_ = saved_of(options_).run;
    check(run_.problem);
    run_.couplings_hash = value_in<std::string>(header_.at("problem").at("couplings_hash")).value();
  } catch (const nlohmann::json::exception&) {
    file_.refuse("not a file of sums of spin_glass");
  } catch (const std::bad_optional_access&) {
    file_.refuse("not a file of sums of spin_glass");
  } catch (const InvalidInput& wrong) {
    file_.refuse(std::string("not a file of sums of spin_glass: ") + wrong.what());
  }
  const std::int64_t room = file_.end() - file_.begin() - static_cast<std::int64_t>(sizeof end_);
  if (room >= 0) {
    file_.seek(file_.end() - static_cast<std::int64_t>(sizeof end_));
    file_.read(&end_, sizeof end_);
  }
  const std::int64_t numbers = room / 8,
                     of_bin = static_cast<std::int64_t>(LadderBins::numbers_of(run_.problem, run_.functions()));
  const std::int64_t of_sample = numbers_of_sample(run_.problem, run_.keeps_correlations());
  const bool times_fit = end_.times == 0 || (end_.times > 0 && of_sample <= numbers / run_.problem.samples &&
                                             end_.times <= numbers / of_time());  // then no product is an overflow
  const bool fits = room >= 0 && room % 8 == 0 && times_fit && end_.bins >= 0 && end_.bins <= numbers / of_bin &&
                    (end_.times > 0 ? end_.times * of_time() : 0) + end_.bins * of_bin == numbers;
  if (!fits) file_.refuse("not a file of sums of spin_glass: its length cannot be right");
  file_.close();  // there may be more of them than a program may have open
}

std::int64_t Sums::of_time() const {
  return 1 + run_.problem.samples * numbers_of_sample(run_.problem, run_.keeps_correlations());
}

template <class T>
std::vector<T> Sums::read_part(std::int64_t at, std::int64_t numbers) {
  std::vector<T> part(static_cast<std::size_t>(numbers));
  file_.seek(file_.begin() + 8 * at);
  file_.read(part.data(), part.size() * sizeof(T));
  file_.close();
  return part;
}

std::vector<std::int64_t> Sums::time(std::int64_t i) { return read_part<std::int64_t>(i * of_time(), of_time()); }

std::vector<double> Sums::bin(std::int64_t i) {
  const auto of_bin = static_cast<std::int64_t>(LadderBins::numbers_of(run_.problem, run_.functions()));
  return read_part<double>(end_.times * of_time() + i * of_bin, of_bin);
}

}  // namespace psflip::spin_glass
