/// How fast this many ranks are: the time of a sweep for every size and transport asked for, as JSON. Run by mpirun;
/// one rank is what the others are compared with.
///
/// Wrong bits end it. The state K sweeps after the start is too large to be brought to one rank, so that the energies,
/// magnetisations and overlaps of all samples then are what is compared: `check` is their hash.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "08_mpi/engine.hpp"
#include "08_mpi/ranks/ranks.hpp"
#include "08_mpi/slab.hpp"
#include "app/command_line.hpp"
#include "app/invalid_input.hpp"
#include "app/start.hpp"
#include "app/state_hash.hpp"
#include "spin_glass/engine/platforms.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::spin_glass {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::int64_t> sizes{64};
  std::vector<Transport> transports;  ///< none: the stage's choice
  Kernel kernel = Kernel::wide;
  std::int64_t samples = 128, replicas = 4, samples_per_stream = 128;
  Generator generator = Generator::philox;
  int repetitions = 5;
  double seconds = 0.1;
  std::string device = "auto";
};

// So many at once that the kernel `overlapped` does passes of two sweeps.
constexpr std::int64_t checked_sweeps = 8;
std::int64_t recorded_sweeps(const Launch& launch) { return launch.kernel == Kernel::overlapped ? 6 : 2; }

/// A hash of what is measured of all samples.
std::string check_of(const Simulation& simulation) {
  Checksum sum;
  const std::vector<SampleObservables> samples = dynamic_cast<const Observing&>(simulation).observe(false).value();
  for (const SampleObservables& sample : samples)
    for (const auto* numbers : {&sample.energies, &sample.magnetisations, &sample.overlaps})
      sum.add(numbers->data(), numbers->size() * sizeof(std::int64_t));
  return hex(sum.value());
}

/// The parts of the sweeps number 2, 3, ... on rank 0: the first has to wait for what was loaded.
Json timeline(Simulation& simulation) {
  auto& recorder = dynamic_cast<Recorder&>(simulation);
  recorder.record();
  simulation.advance(2 * recorded_sweeps(simulation.launch()));
  Json parts = Json::array();
  for (const Part& part : recorder.recorded()) parts.push_back({part.name, part.begin * 1e6, part.end * 1e6});
  return parts;
}

Json measure(const Options& options, const ChosenDevice& choice, std::int64_t size,
             std::optional<Transport> transport) {
  const Problem problem{.size = size,
                        .beta = 1 / 1.1,
                        .samples = options.samples,
                        .replicas = options.replicas,
                        .samples_per_stream = options.samples_per_stream,
                        .generator = options.generator};
  const std::unique_ptr<Simulation> simulation =
      choice.platform->make(problem, {.device = choice.device.index, .kernel = options.kernel, .transport = transport});
  simulation->advance(2 * checked_sweeps);
  const std::string check = check_of(*simulation);

  const double once = simulation->advance(2 * checked_sweeps) / checked_sweeps;
  const auto sweeps = std::max<std::int64_t>(4, std::llround(options.seconds / once));
  std::vector<double> times;
  for (int i = 0; i < options.repetitions; ++i)
    times.push_back(simulation->advance(2 * sweeps) / static_cast<double>(sweeps));
  Json parts = timeline(*simulation);
  simulation->restart();
  simulation->advance(2 * checked_sweeps);
  if (const std::string again = check_of(*simulation); again != check)
    throw std::runtime_error("the same sweeps gave other energies the second time: " + check + " and " + again);

  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  const Launch launch = simulation->launch();
  const double flips = static_cast<double>(problem.samples * problem.replicas) * static_cast<double>(sites(problem));
  const std::int64_t words = (problem.samples - 1) / *launch.samples_per_word + 1;
  // One plane of a colour after a half-sweep; after two sweeps two of each, both ways.
  const std::int64_t planes = launch.kernel == Kernel::overlapped ? 8 : 1;
  Json row{{"size", size},
           {"transport", name(*launch.transport)},
           {"samples_per_word", *launch.samples_per_word},
           {"check", check},
           {"sweeps", sweeps},
           {"ms_per_sweep", median * 1e3},
           {"least_ms_per_sweep", times.front() * 1e3},
           {"greatest_ms_per_sweep", times.back() * 1e3},
           {"ps_per_flip", median / flips * 1e12},
           {"message_bytes",
            static_cast<double>(planes * words * *launch.samples_per_word * problem.replicas * size * size) / 8},
           {"timeline_us", parts}};
  return row;
}

void work(const Options& options) {
  const ChosenDevice choice = choose_device(platforms(), options.device);
  Json rows = Json::array();
  for (const std::int64_t size : options.sizes)
    for (const auto& transport : or_default(options.transports)) {
      std::cerr << "L = " << size << ", " << ranks().size() << " ranks, " << (transport ? name(*transport) : "auto")
                << '\n';
      rows.push_back(measure(options, choice, size, transport));
    }
  const Json all{{"ranks", ranks().size()},
                 {"platform", choice.device.platform},
                 {"device", choice.device.name},
                 {"devices", choice.platform->devices().size()},  // of rank 0's host
                 {"one_host", ranks().one_host()},
                 {"mpi", Ranks::library()},
                 {"samples", options.samples},
                 {"replicas", options.replicas},
                 {"samples_per_stream", options.samples_per_stream},
                 {"generator", name(options.generator)},
                 {"kernel", name(options.kernel)},
                 {"rows", rows}};
  std::cout << all.dump(1) << '\n';
}

int program(int argc, char** argv) {
  CommandLine line("Times sweeps of the 3D spin glass on many ranks, and their parts. Prints JSON.", "scaling");
  Options options;
  line.option("--size", options.sizes, "L, those to time").delimiter(',').check(whole_number(4));
  line.option("--transport", options.transports, "Those to time (the fastest)").delimiter(',');
  line.option("--kernel", options.kernel, "wide, or overlapped: two sweeps in one pass (wide)");
  line.option("--samples", options.samples, "Realisations of the couplings (128)").check(whole_number(1));
  line.option("--replicas", options.replicas, "Copies of each (4)").check(whole_number(1));
  line.option("--samples-per-stream", options.samples_per_stream, "Samples that share random numbers (128)")
      .check(whole_number(1));
  line.option("--generator", options.generator, "Of the draws (philox)");
  line.option("--repetitions", options.repetitions, "Timed runs, of which the median is told (5)")
      .check(whole_number(1));
  line.option("--seconds", options.seconds, "Of a timed run, about (0.1)").check(psflip::number(1e-9));
  line.option("--device", options.device, "auto, cpu, gpu, or the number of rank 0's GPU (auto)");
  return run_program(line, argc, argv, [&] { work(options); });
}

}  // namespace
}  // namespace psflip::spin_glass

int main(int argc, char** argv) { return psflip::start(argc, argv, psflip::spin_glass::program); }
