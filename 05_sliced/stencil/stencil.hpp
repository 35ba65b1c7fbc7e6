/// The memory access of a spin-glass update and nothing else: what the cubic-stencil benchmark of Lulli, Bernaschi and
/// Parisi measures (poster at GTC 2015).
///
/// L x L x L sites on a cubic lattice with periodic boundaries, s = x + L (y + L z), red where x + y + z is even. Every
/// site has a word and every bond a word: bond 3 s + d joins site s to its neighbour in direction +d. Updating a site
/// stores into it the XOR of its six neighbours and the words of its six bonds. There is no randomness.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "gpu/host_device.hpp"
#include "random/streams.hpp"
#include "spin_glass/engine/launch.hpp"

namespace psflip::stencil {

/// As wide as the words of multispin coding, which hold one spin of 32 samples each.
using Word = std::uint32_t;

/// What an updated site has to move between memory and the device: its own word written, a neighbour's word and six
/// couplings read. Each array is then passed once; caches are thought to be ideal within a half-sweep, empty before it.
inline constexpr int bytes_per_site = 8 * sizeof(Word);

/// The word with which site s starts.
PSFLIP_HOST_DEVICE constexpr Word start(std::int64_t site) {
  return static_cast<Word>(hash(0, Purpose::start, 0, site));
}
/// The word of a bond.
PSFLIP_HOST_DEVICE constexpr Word coupling(std::int64_t bond) {
  return static_cast<Word>(hash(0, Purpose::couplings, 0, bond));
}
/// What site s with this word adds to the checksum.
PSFLIP_HOST_DEVICE constexpr std::uint64_t checksum_term(std::int64_t site, Word word) { return mix(mix(site) + word); }

/// How an engine is to be run. Nothing here changes a word. What is left empty, the engine chooses.
struct Launch {
  int device = 0;  ///< device number within the platform
  std::optional<spin_glass::Indexing> indexing{};
  std::optional<spin_glass::Load> load{};
  std::optional<int> threads{};  ///< of a block
};
inline const std::vector<FieldOf<Launch>>& launch_fields(const Launch& = {}) {
  static const std::vector<FieldOf<Launch>> fields = {
      launch_field("indexing", &Launch::indexing, "How threads find sites"),
      launch_field("load", &Launch::load, "How kernels read"),
      launch_field("threads", &Launch::threads, "Threads of a block; with a grid indexing a whole row at least"),
  };
  return fields;
}

/// The words on a device, in the order of some layout. Every member may throw std::runtime_error if the device fails.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Every word back to its start. A new engine is there already.
  virtual void restart() = 0;
  /// Updates one colour after the other, as often as said; the first half-sweep after a start is red. Two half-sweeps
  /// are a sweep. Returns the seconds that the device took for it.
  virtual double advance(std::int64_t half_sweeps) = 0;
  /// The words now, in the order of s.
  virtual std::vector<Word> words() const = 0;
  /// The sum of checksum_term over all sites, modulo 2^64, computed on the device.
  virtual std::uint64_t checksum() const = 0;
  /// The launch that is used, with everything filled in.
  virtual Launch launch() const = 0;
};

/// An engine at its start. size: L, even, 4 to 1624. Throws InvalidInput for a launch that cannot be done (bitwise
/// unless L is a power of two, a texture of more elements than the device allows, a row or block of more than 1024
/// threads) or a lattice beyond the device's memory.
using MakeEngine = std::unique_ptr<Engine>(std::int64_t size, const Launch& launch);

}  // namespace psflip::stencil

namespace psflip::cpu {
stencil::MakeEngine make_stencil;  ///< as CUDA on host threads
}
namespace psflip::gpu {
stencil::MakeEngine make_stencil;  ///< on a GPU
}
