// Bitmaps: what is read can be written in both formats and read back.
#include "fuzz/target.hpp"
#include "majority/pbm.hpp"

using namespace psflip;
using namespace psflip::majority;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t largest_size = 1000;
  static fuzz::MemoryFile file;
  file.set({data, size});
  const auto read = [](const std::string& path) { return read_pbm(path, largest_size); };
  const auto lattice = fuzz::accepted(file, read);
  if (!lattice) return 0;
  fuzz::expect(lattice->size >= 1 && lattice->size <= largest_size, "a size that is allowed");
  fuzz::expect(std::ssize(lattice->spins) == lattice->size * lattice->size, "a spin for every pixel");
  for (const PbmFormat format : {PbmFormat::packed, PbmFormat::plain}) {
    const fuzz::Written again([&](OutputFile& to) { write_pbm(to, *lattice, format); });
    fuzz::expect(read(again.path()) == *lattice, "what is written is read back");
  }
  return 0;
}
