// Files of spins, behind their checksum: what is accepted for a problem starts it, and is written and read back.
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "spin_glass/checkpoint/described_fuzz.hpp"
#include "spin_glass/run/spins_file.hpp"

using namespace psflip;
using namespace psflip::spin_glass;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  file.set(fuzz::described("psFlipSp", {reinterpret_cast<const char*>(data), size}));
  const Problem problem{.size = 4, .samples = 2, .replicas = 2, .samples_per_stream = 2, .first_sample = 2};
  const auto start = [&](const std::string& path) {
    auto simulation = reference::make_simulation(problem, {});
    start_from(path, problem, *simulation);
    return simulation;
  };
  const auto simulation = fuzz::accepted(file, start);
  if (!simulation) return 0;
  const nlohmann::ordered_json description = {
      {"problem", {{"size", 4}, {"samples", 2}, {"first_sample", 2}, {"replicas", 2}}}};
  const fuzz::Written again([&](OutputFile& to) { write_spins(to, description, **simulation); });
  fuzz::expect(start(again.path())->state() == (*simulation)->state(), "what is written is read back");
  return 0;
}
