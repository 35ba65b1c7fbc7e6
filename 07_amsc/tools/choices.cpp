/// How good the choice of a launch is: times every launch that is possible for a problem, and says which of them the
/// program takes for a long run, and which for a short one. Prints JSON.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "07_amsc/kernels/trials.hpp"
#include "app/command_line.hpp"
#include "app/stopwatch.hpp"
#include "spin_glass/engine/platforms.hpp"

namespace psflip::spin_glass {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  Problem problem{.samples = 128, .samples_per_stream = 128};
  std::int64_t sweeps = 1'000'000'000;
  double seconds = 0.005, longer = 0.02;
  int repetitions = 5, finalists = 5;
  std::string device = "auto";
};

/// A possible launch and its times.
struct Row {
  Launch launch;
  double brief = 0;             ///< seconds for a sweep; 0: it cannot be had
  std::vector<double> times{};  ///< of longer runs, if it was among the fastest

  double seconds() const {
    std::vector<double> sorted = times;
    std::ranges::sort(sorted);
    return sorted.empty() ? brief : sorted[sorted.size() / 2];
  }
};

Json json_of_row(const Row& row) {
  return {{"launch", json_of<Json>(row.launch)}, {"seconds", row.seconds()}, {"repetitions", row.times.size()}};
}

std::size_t place_of(const Launch& launch, const std::vector<Row>& rows) {
  const auto same = [&](const Row& row) { return values_of(row.launch) == values_of(launch); };
  return static_cast<std::size_t>(std::ranges::find_if(rows, same) - rows.begin());
}

Json measure(const Options& options) {
  static const std::vector<psflip::Platform<PossibleLaunches>> with_launches = PSFLIP_PLATFORMS(possible_launches);
  const auto [platform, device] = choose_device(platforms(), options.device);
  const auto there = choose_device(with_launches, options.device);
  std::vector<Row> rows;
  for (const Possible& one : there.platform->make(options.problem, {.device = device.index}))
    rows.push_back({one.launch});
  const auto time = [&, make = platform->make](const Row& row, double seconds) {
    return seconds_of_sweep(*make(options.problem, row.launch), seconds);
  };

  const Stopwatch watch;
  const Launch chosen = platform->make(options.problem, {.device = device.index, .sweeps = options.sweeps})->launch();
  const double until_chosen = watch.seconds();
  const std::size_t choice = place_of(chosen, rows), expected = 0;

  std::vector<std::size_t> fastest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    try {
      rows[i].brief = time(rows[i], options.seconds);
      fastest.push_back(i);
    } catch (const std::exception& error) {
      std::cerr << in_words(rows[i].launch) << ": " << error.what() << '\n';
    }
  }
  std::ranges::stable_sort(fastest, {}, [&](std::size_t i) { return rows[i].brief; });
  fastest.resize(std::min<std::size_t>(fastest.size(), static_cast<std::size_t>(options.finalists)));
  std::set<std::size_t> again(fastest.begin(), fastest.end());
  again.insert({choice, expected});
  for (int repetition = 0; repetition < options.repetitions; ++repetition)
    for (const std::size_t i : again) rows.at(i).times.push_back(time(rows[i], options.longer));

  const auto best = *std::ranges::min_element(again, {}, [&](std::size_t i) { return rows[i].seconds(); });
  Json all = Json::array();
  for (const Row& row : rows)
    if (row.brief > 0) all.push_back(json_of_row(row));
  return {{"platform", device.platform},
          {"device", device.name},
          {"possible", rows.size()},
          {"tried", chosen.tried.launches},
          {"seconds_to_choose", chosen.tried.seconds},
          {"seconds_until_made", until_chosen},
          {"choice", json_of_row(rows.at(choice))},
          {"expected", json_of_row(rows[expected])},
          {"best", json_of_row(rows[best])},
          {"seconds", watch.seconds()},
          {"rows", all}};
}

int program(int argc, char** argv) {
  CommandLine line("Times every launch that is possible for a problem, and that which is chosen. Prints JSON.",
                   "choices");
  Options options;
  Problem& problem = options.problem;
  line.option("--size", problem.size, "L (16)").check(whole_number(4));
  line.option("--samples", problem.samples, "Realisations of the couplings (128)").check(whole_number(1));
  line.option("--replicas", problem.replicas, "Copies of each (4)").check(whole_number(1));
  line.option("--samples-per-stream", problem.samples_per_stream, "Samples that share random numbers (128)")
      .check(whole_number(1));
  line.option("--generator", problem.generator, "Of the draws (minstd)");
  line.option("--sweeps", options.sweeps, "Of the run for which a launch is chosen (10^9)").check(whole_number(1));
  line.option("--seconds", options.seconds, "For which every launch is run, about (0.005)").check(number(1e-9));
  line.option("--longer", options.longer, "The same for the fastest, as often as --repetitions says (0.02)")
      .check(number(1e-9));
  line.option("--repetitions", options.repetitions, "Of which the median is told (5)").check(whole_number(1));
  line.option("--finalists", options.finalists, "How many are the fastest (5)").check(whole_number(1));
  line.option("--device", options.device, "auto, cpu, gpu, or the number of a GPU (auto)");
  return run_program(line, argc, argv, [&] { std::cout << measure(options).dump(1) << '\n'; });
}

}  // namespace
}  // namespace psflip::spin_glass

int main(int argc, char** argv) { return psflip::spin_glass::program(argc, argv); }
