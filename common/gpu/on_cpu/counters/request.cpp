#include "request.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace cuda_on_cpu::counters {
namespace {

/// The different addresses of some lanes, in ascending order.
struct Addresses {
  std::array<std::uintptr_t, lanes_per_warp> all;
  unsigned count = 0;

  Addresses(const Request& request, std::uint32_t lanes) {
    bool ascending = true;
    for (std::uint32_t rest = request.active & lanes; rest != 0; rest &= rest - 1) {
      const std::uintptr_t address = request.address[static_cast<unsigned>(std::countr_zero(rest))];
      if (count > 0 && address == all[count - 1]) continue;
      ascending = ascending && (count == 0 || address > all[count - 1]);
      all[count++] = address;
    }
    if (ascending) return;
    std::sort(all.begin(), all.begin() + count);
    count = static_cast<unsigned>(std::unique(all.begin(), all.begin() + count) - all.begin());
  }
  std::span<const std::uintptr_t> span() const { return {all.data(), count}; }
};

}  // namespace

Sectors sectors_of(const Request& request, unsigned bytes) {
  const Addresses addresses(request, ~0u);
  Sectors sectors;
  std::uintptr_t different_bytes = 0, end = 0;
  for (const std::uintptr_t address : addresses.span()) {
    different_bytes += address + bytes - std::max(address, end);
    end = address + bytes;
    for (std::uintptr_t s = address / sector_bytes; s <= (end - 1) / sector_bytes; ++s)
      if (sectors.count == 0 || s > sectors.number[sectors.count - 1]) sectors.number[sectors.count++] = s;
  }
  sectors.least = static_cast<unsigned>((different_bytes + sector_bytes - 1) / sector_bytes);
  return sectors;
}

Wavefronts wavefronts_of(const Request& request, unsigned bytes) {
  const unsigned at_once = std::min(lanes_per_warp, banks * bank_bytes / bytes);
  Wavefronts wavefronts;
  for (unsigned first = 0; first < lanes_per_warp; first += at_once) {
    const std::uint32_t lanes = at_once == lanes_per_warp ? ~0u : ((1u << at_once) - 1) << first;
    if ((request.active & lanes) == 0) continue;
    const Addresses addresses(request, lanes);
    std::array<unsigned, banks> words{};
    std::uintptr_t next = 0;  // the first word that is not counted yet
    unsigned most = 0;
    for (const std::uintptr_t address : addresses.span())
      for (std::uintptr_t word = address / bank_bytes; word <= (address + bytes - 1) / bank_bytes; ++word) {
        if (word < next) continue;
        next = word + 1;
        most = std::max(most, ++words[word % banks]);
      }
    wavefronts.count += most;
    wavefronts.conflicts += most - 1;
  }
  return wavefronts;
}

}  // namespace cuda_on_cpu::counters
