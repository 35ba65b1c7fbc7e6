// Files of sums, behind their checksum: what is read can be read to its end.
#include "fuzz/target.hpp"
#include "spin_glass/checkpoint/described_fuzz.hpp"
#include "spin_glass/run/sums_file.hpp"

using namespace psflip;
using namespace psflip::spin_glass;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  file.set(fuzz::described("psFlipSm", {reinterpret_cast<const char*>(data), size}));
  auto sums = fuzz::accepted(file, [](const std::string& path) { return Sums(path); });
  if (!sums) return 0;
  const Problem& problem = sums->run().problem;
  const std::int64_t of_sample = numbers_of_sample(problem, sums->run().keeps_correlations());
  for (std::int64_t i = 0; i < sums->end().times; ++i)
    fuzz::expect(std::ssize(sums->time(i)) == 1 + problem.samples * of_sample, "all numbers of a time");
  for (std::int64_t i = 0; i < sums->end().bins; ++i)
    fuzz::expect(sums->bin(i).size() == LadderBins::numbers_of(problem, sums->run().functions()),
                 "all numbers of a bin");
  return 0;
}
