// Checkpoints, behind their checksum: what is read is a run that an engine can be put into, saved and read again.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "spin_glass/checkpoint/checkpoint.hpp"
#include "spin_glass/checkpoint/described_fuzz.hpp"

using namespace psflip;
using namespace psflip::spin_glass;

namespace {

/// The bytes of spins and streams, and the checksum.
std::string end_of(const std::string& path, std::size_t bytes) {
  std::string content(std::filesystem::file_size(path), '\0');
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  fuzz::expect(std::fread(content.data(), 1, content.size(), file) == content.size(), "a file that can be read");
  std::fclose(file);
  return content.substr(content.size() - bytes - 8, bytes);
}

/// Without names of files, which are others in another folder.
nlohmann::ordered_json nameless(Saved saved) {
  saved.run.for_each_file_name([](std::string& name) { name.clear(); });
  return as_json(saved);
}

bool same(const AveragesAt& one, const AveragesAt& other) {
  return one.sweep == other.sweep && one.averages == other.averages && one.correlations == other.correlations;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  file.set(fuzz::described("psFlip3D", {reinterpret_cast<const char*>(data), size}));
  auto checkpoint = fuzz::accepted(file, [](const std::string& path) { return Checkpoint(path); });
  if (!checkpoint) return 0;
  const Saved saved = checkpoint->saved();
  const Problem& problem = saved.run.problem;
  fuzz::expect(as_json(saved_of(as_json(saved))) == as_json(saved), "a description can be written and read back");
  const std::int64_t spins = problem.samples * problem.replicas * sites(problem);
  if (spins > 1 << 13) return 0;
  const auto simulation = reference::make_simulation(problem, {});
  checkpoint->restore(*simulation);
  fuzz::expect(simulation->half_sweeps() == 2 * saved.sweeps, "as many sweeps");
  const fuzz::Written again([&](OutputFile& to) { write_checkpoint(to, saved, *simulation); });
  const Checkpoint back(again.path());
  const Saved& then = back.saved();
  fuzz::expect(nameless(then) == nameless(saved), "the same description");
  fuzz::expect(then.sweeps == saved.sweeps && then.rows == saved.rows && then.stage == saved.stage, "the same run");
  fuzz::expect(std::ranges::equal(then.result.averages, saved.result.averages, same), "the same averages");
  fuzz::expect(std::ranges::equal(then.result.ladder.numbers(), saved.result.ladder.numbers()) &&
                   then.result.ladder.finished().size() == saved.result.ladder.finished().size(),
               "the same bins");
  const std::int64_t exchanges = problem.ladder ? 8 * problem.samples * problem.replicas : 0;
  const auto state = static_cast<std::size_t>(
      spins / 8 + exchanges + 4 * stream_words(problem.generator).value() * groups(problem) * sites(problem));
  fuzz::expect(end_of(again.path(), state) == end_of(file.path(), state), "the same spins, exchanges and streams");
  return 0;
}
