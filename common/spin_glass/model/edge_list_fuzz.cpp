// Edge lists: what is read is a lattice, and can be written and read back.
#include <algorithm>

#include "fuzz/target.hpp"
#include "spin_glass/model/edge_list.hpp"

using namespace psflip;
using namespace psflip::spin_glass;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  file.set({data, size});
  const auto instance = fuzz::accepted(file, read_edge_list);
  if (!instance) return 0;
  const auto& [length, couplings] = *instance;
  fuzz::expect(length >= smallest_size && length % 2 == 0, "an even size");
  fuzz::expect(std::ssize(couplings) == 3 * length * length * length, "three couplings a site");
  fuzz::expect(std::ranges::all_of(couplings, [](Coupling j) { return j == 1 || j == -1; }), "couplings 1 and -1");
  const fuzz::Written again([&](OutputFile& to) { write_edge_list(to, *instance); });
  fuzz::expect(read_edge_list(again.path()) == *instance, "what is written is read back");
  return 0;
}
