// States on a device, for observe_test.cpp.
#include "07_amsc/observe/observe_test.hpp"

#include <random>

#include "05_sliced/sliced.hpp"
#include "07_amsc/observe/observe.hpp"
#include "gpu/check.hpp"
#include "gpu/device_buffer.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using namespace spin_glass;
using amsc::Packing;
using Words = std::vector<std::uint32_t>;

Words rubbish(std::int64_t count) {
  std::mt19937 random;
  Words words(count);
  for (std::uint32_t& word : words) word = random();
  return words;
}

void set_bit(std::uint32_t& word, int bit, bool value) {
  word = (word & ~(std::uint32_t{1} << bit)) | std::uint32_t{value} << bit;
}

DeviceBuffer<std::uint32_t> on_device(const Words& words) {
  DeviceBuffer<std::uint32_t> buffer(words.size());
  buffer.copy_from_host(words.data());
  return buffer;
}

}  // namespace

std::vector<SampleObservables> observe_state(const Packing& packing, const State& state,
                                             const std::vector<std::vector<Coupling>>& couplings, bool correlations) {
  const int size = static_cast<int>(state.size);
  const Sliced layout{size, size};
  const auto site = [&](Colour colour, int i) { return number(layout.site(colour, layout.place(i)), size); };

  CHECK_CUDA(cudaSetDevice(0));
  DeviceBuffer<std::uint32_t> buffers[2 + directions];
  for (const Colour colour : {red, blue}) {
    Words words = rubbish(packing.spin_units());
    for (std::int64_t sample = 0; sample < packing.samples; ++sample)
      for (int replica = 0; replica < packing.replicas; ++replica)
        for (int i = 0; i < packing.half; ++i)
          set_bit(words[packing.spin(packing.unit_of(sample), replica, i)], packing.bit_of(sample),
                  state.of(sample, replica)[site(colour, i)] > 0);
    buffers[colour] = on_device(words);
  }
  for (int d = 0; d < directions; ++d) {
    Words words = rubbish(packing.coupling_units());
    for (std::int64_t sample = 0; sample < packing.samples; ++sample)
      for (int i = 0; i < packing.half; ++i) {
        // The bond in a negative direction is that of the neighbour, a blue site, in the positive one.
        const int neighbour = layout.neighbours(red, layout.place(i)).to[d];
        const std::int64_t bond = 3 * (d % 2 == 0 ? site(red, i) : site(blue, neighbour)) + d / 2;
        set_bit(words[packing.coupling(packing.unit_of(sample), i)], packing.bit_of(sample),
                couplings[sample][bond] < 0);
      }
    buffers[2 + d] = on_device(words);
  }
  amsc::PackedArrays arrays{{buffers[red].data(), buffers[blue].data()}, {}};
  for (int d = 0; d < directions; ++d) arrays.couplings[d] = buffers[2 + d].data();
  return observe_packed(packing, arrays, size, correlations).value();
}

}  // namespace psflip::PSFLIP_PLATFORM
