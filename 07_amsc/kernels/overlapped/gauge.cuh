/// A gauge in which the bonds along z are +1, so that nobody has to fetch them.
///
/// Turn a spin s_i to e_i s_i and its bonds to e_i J e_j, with any signs e: every J s s' is as before, and Metropolis
/// asks for nothing else. Along a column of the sliced layout the signs can be chosen so that all bonds are +1 but the
/// one that closes the ring, between the last plane and the first: the seam. Of six bonds four are left, and of these a
/// site keeps the two that lead upwards; the others are kept by the sites below.
#pragma once

#include "05_sliced/sliced.hpp"
#include "07_amsc/elements.hpp"
#include "07_amsc/multispin_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {

/// The bonds of a site to the plane above it, but for the one along z.
template <int units>
struct alignas(8 * units < 16 ? 8 * units : 16) BondsUp {
  Bonds<units> minus_y, plus_x;
};

/// Arrays are [word][element], elements as in Gauge.
template <int units>
struct GaugedBonds {
  BondsUp<units>* up[2];  ///< [colour]
  Bonds<units>* seam;     ///< from blue plane L / 2 - 1 to red plane 0; [word][column]
};

/// The planes of a lattice, or of a rank's slab of it (stage 08), and where they lie: plane after plane of L x L
/// elements, as in Sliced, first in the engine's arrays, then in those of the gauge.
struct Gauge {
  int size;         ///< L
  int planes;       ///< of a colour
  bool seam_above;  ///< whether the lattice's plane 0 comes next
  int stored;       ///< planes in the engine's arrays; the one above the last is there, or it is the first
  int first[2];     ///< in them, of a colour's spins
  int halo;         ///< planes below, and above, in the arrays of the gauge

  static Gauge whole(int size) { return {size, size / 2, true, size / 2, {0, 0}, 0}; }

  PSFLIP_HOST_DEVICE int flat() const { return size * size; }
  PSFLIP_HOST_DEVICE int engine_elements() const { return flat() * stored; }
  PSFLIP_HOST_DEVICE int elements() const { return flat() * (planes + 2 * halo); }
  PSFLIP_HOST_DEVICE int above(int plane) const { return plane + 1 < stored ? plane + 1 : 0; }
};

/// Calls f(plane, signs of red, signs of blue) for all planes of a column, from the signs below them; returns those
/// above. Signs are the parity of the antiferromagnetic bonds along z between the lattice's plane 0 and the site.
template <int units, class F>
__device__ Bonds<units> climb(const Gauge& gauge, const Words32& arrays, std::int64_t word, int column,
                              Bonds<units> signs, F f) {
  const auto step = [&](int direction, int plane) {
    const auto* bonds =
        reinterpret_cast<const Bonds<units>*>(arrays.couplings[direction]) + word * gauge.engine_elements();
    for (int unit = 0; unit < units; ++unit) signs.of[unit] ^= bonds[column + gauge.flat() * plane].of[unit];
  };
  for (int p = 0; p < gauge.planes; ++p) {
    const Bonds<units> of_red = signs;
    step(spin_glass::plus_z, p);
    f(p, of_red, signs);
    step(spin_glass::minus_z, gauge.above(p));
  }
  return signs;
}

/// What all these kernels do: a thread takes a column, of one word after the other.
template <class F>
__device__ void for_each_column(const Gauge& gauge, std::int64_t words, F f) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= gauge.flat()) return;
  for (std::int64_t word = blockIdx.y; word < words; word += gridDim.y) f(word, column);
}

/// The parity of all bonds along a column, the one above its last plane included: of a whole lattice it is the seam.
template <int units>
__global__ void climb_columns(Gauge gauge, Words32 arrays, std::int64_t words, Bonds<units>* parity) {
  for_each_column(gauge, words, [&](std::int64_t word, int column) {
    parity[word * gauge.flat() + column] =
        climb<units>(gauge, arrays, word, column, {}, [](int, const auto&, const auto&) {});
  });
}

/// Spins of the engine into the gauge, or back. Both may be the same arrays. `start`: signs below the first plane,
/// [word][column]; none: 0.
template <int units, int interleaved>
__global__ void turn_spins(Gauge gauge, Words32 arrays, std::int64_t words, int bundles, const Bonds<units>* start,
                           std::uint32_t* gauged_red, std::uint32_t* gauged_blue, bool back) {
  using Element = Spins<units, interleaved>;
  for_each_column(gauge, words, [&](std::int64_t word, int column) {
    const auto turn = [&](Colour colour, int p, const Bonds<units>& signs) {
      for (int bundle = 0; bundle < bundles; ++bundle) {
        const std::int64_t lattice = word * bundles + bundle;
        Element& real = reinterpret_cast<Element*>(arrays.spins[colour])[lattice * gauge.engine_elements() + column +
                                                                         gauge.flat() * (gauge.first[colour] + p)];
        Element& turned = reinterpret_cast<Element*>(
            colour == spin_glass::red
                ? gauged_red
                : gauged_blue)[lattice * gauge.elements() + column + gauge.flat() * (gauge.halo + p)];
        Element spins = back ? turned : real;
        for (int n = 0; n < units * interleaved; ++n) spins.of[n] ^= signs.of[n % units];
        (back ? real : turned) = spins;
      }
    };
    climb<units>(gauge, arrays, word, column, start ? start[word * gauge.flat() + column] : Bonds<units>{},
                 [&](int p, const Bonds<units>& of_red, const Bonds<units>& of_blue) {
                   turn(spin_glass::red, p, of_red);
                   turn(spin_glass::blue, p, of_blue);
                 });
  });
}

/// The bonds of the gauge, from those of the red sites. A thread climbs its column and, beside it, the two columns to
/// which its upward bonds lead. `start` as above.
template <int units>
__global__ void make_gauged_bonds(Gauge gauge, Words32 arrays, std::int64_t words, const Bonds<units>* start,
                                  GaugedBonds<units> gauged) {
  using namespace spin_glass;
  for_each_column(gauge, words, [&](std::int64_t word, int column) {
    const int size = gauge.size, flat = gauge.flat(), x = column % size, y = column / size;
    const int at_minus_y = x + size * before(y, size), at_plus_x = after(x, size) + size * before(y, size);
    const auto bonds = [&](int direction) {
      return reinterpret_cast<const Bonds<units>*>(arrays.couplings[direction]) + word * gauge.engine_elements();
    };
    const auto at_start = [&](int i) { return start ? start[word * flat + i] : Bonds<units>{}; };
    // Signs so far, in the three columns.
    Bonds<units> own = at_start(column), on_y = at_start(at_minus_y), on_x = at_start(at_plus_x);
    const auto step = [&](Bonds<units>& signs, int direction, int i) {
      for (int unit = 0; unit < units; ++unit) signs.of[unit] ^= bonds(direction)[i].of[unit];
    };
    const auto product = [&](int direction, int i, const Bonds<units>& a, const Bonds<units>& b) {
      Bonds<units> bond = bonds(direction)[i];
      for (int unit = 0; unit < units; ++unit) bond.of[unit] ^= a.of[unit] ^ b.of[unit];
      return bond;
    };
    for (int p = 0; p < gauge.planes; ++p) {
      const int here = flat * p, above = flat * gauge.above(p);
      const std::int64_t i = word * gauge.elements() + column + flat * (gauge.halo + p);
      // Red p has blue p above it ...
      const Bonds<units> red_signs = own;
      step(own, plus_z, here + column);
      step(on_y, plus_z, here + at_minus_y);
      step(on_x, plus_z, here + at_plus_x);
      gauged.up[red][i] = {product(minus_y, here + column, red_signs, on_y),
                           product(plus_x, here + column, red_signs, on_x)};
      // ... and blue p red p + 1, which knows the bonds as its own in the opposite directions. In plane 0 signs begin
      // anew.
      const Bonds<units> blue_signs = own;
      step(own, minus_z, above + column);
      step(on_y, minus_z, above + at_minus_y);
      step(on_x, minus_z, above + at_plus_x);
      if (p == gauge.planes - 1 && gauge.seam_above) on_y = on_x = {};
      gauged.up[blue][i] = {product(plus_y, above + at_minus_y, blue_signs, on_y),
                            product(minus_x, above + at_plus_x, blue_signs, on_x)};
    }
  });
}

/// metropolis.hpp's update in this gauge, in 13 operations: `above` and `below` are the neighbours along z, whose bonds
/// are +1.
PSFLIP_HOST_DEVICE inline std::uint32_t updated_in_gauge(std::uint32_t spin, const std::uint32_t (&around)[4],
                                                         const std::uint32_t (&coupling)[4], std::uint32_t above,
                                                         std::uint32_t below, const amsc::Help& help) {
  using amsc::majority, amsc::parity;
  std::uint32_t u[4] = {};  // unsatisfied bonds
  for (int d = 0; d < 4; ++d) u[d] = parity(spin, around[d], coupling[d]);
  const std::uint32_t ones_a = parity(u[0], u[1], u[2]), twos_a = majority(u[0], u[1], u[2]);
  // The other three are u[3], spin ^ above and spin ^ below. Their parity needs no spin. The last two are alike where
  // above and below are, that is where the parity is u[3]: there they are the majority, elsewhere u[3] is.
  const std::uint32_t ones_b = parity(u[3], above, below);
  const std::uint32_t twos_b =
      amsc::by_bits([](auto ones, auto one, auto two) { return (~(ones ^ one) & two) | ((ones ^ one) & one); }, ones_b,
                    u[3], spin ^ above);
  return amsc::updated(spin, ones_a, twos_a, ones_b, twos_b, help);
}

}  // namespace psflip::PSFLIP_PLATFORM
