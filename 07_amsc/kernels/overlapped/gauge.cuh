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

/// Of a colour's half: x' + L (y' + L p), as in Sliced. Arrays are [word][element].
template <int units>
struct GaugedBonds {
  BondsUp<units>* up[2];  ///< [colour]
  Bonds<units>* seam;     ///< from blue plane L / 2 - 1 to red plane 0; [word][column]
};

/// Calls f(element of the column in plane p, signs of red, signs of blue) for the planes 0 .. L / 2 - 1; returns what
/// the seam is. Signs are the parity of the antiferromagnetic bonds between plane 0 and the site.
template <int units, class F>
__device__ Bonds<units> climb(const Sliced& layout, const Bonds<units>* plus_z, const Bonds<units>* minus_z, int column,
                              F f) {
  const int flat = layout.size * layout.size, planes = layout.size / 2;
  Bonds<units> signs{};
  for (int p = 0; p < planes; ++p) {
    const int i = column + flat * p;
    if (p > 0)
      for (int unit = 0; unit < units; ++unit) signs.of[unit] ^= minus_z[i].of[unit];
    const Bonds<units> of_red = signs;
    for (int unit = 0; unit < units; ++unit) signs.of[unit] ^= plus_z[i].of[unit];
    f(i, of_red, signs);
  }
  for (int unit = 0; unit < units; ++unit) signs.of[unit] ^= minus_z[column].of[unit];
  return signs;
}

/// Spins into the gauge, or out of it, which is the same. A thread takes a column of a word.
template <int units, int interleaved>
__global__ void turn_spins(Sliced layout, Words32 arrays, std::int64_t words, int bundles) {
  using Element = Spins<units, interleaved>;
  const int flat = layout.size * layout.size, half = flat * (layout.size / 2);
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= flat) return;
  for (std::int64_t word = blockIdx.y; word < words; word += gridDim.y) {
    const auto bonds = [&](int direction) {
      return reinterpret_cast<const Bonds<units>*>(arrays.couplings[direction]) + word * half;
    };
    const auto turn = [&](Colour colour, int i, const Bonds<units>& signs) {
      for (int bundle = 0; bundle < bundles; ++bundle) {
        Element& spins = reinterpret_cast<Element*>(arrays.spins[colour])[(word * bundles + bundle) * half + i];
        Element turned = spins;
        for (int n = 0; n < units * interleaved; ++n) turned.of[n] ^= signs.of[n % units];
        spins = turned;
      }
    };
    climb<units>(layout, bonds(spin_glass::plus_z), bonds(spin_glass::minus_z), column,
                 [&](int i, const Bonds<units>& of_red, const Bonds<units>& of_blue) {
                   turn(spin_glass::red, i, of_red);
                   turn(spin_glass::blue, i, of_blue);
                 });
  }
}

/// The bonds of the gauge, from those of the red sites. A thread climbs its column and, beside it, the two columns to
/// which its upward bonds lead.
template <int units>
__global__ void make_gauged_bonds(Sliced layout, Words32 arrays, std::int64_t words, GaugedBonds<units> gauged) {
  using namespace spin_glass;
  const int size = layout.size, flat = size * size, planes = size / 2, half = flat * planes;
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= flat) return;
  const int x = column % size, y = column / size;
  const int at_minus_y = x + size * before(y, size), at_plus_x = after(x, size) + size * before(y, size);
  for (std::int64_t word = blockIdx.y; word < words; word += gridDim.y) {
    const auto bonds = [&](int direction) {
      return reinterpret_cast<const Bonds<units>*>(arrays.couplings[direction]) + word * half;
    };
    Bonds<units> own{}, on_y{}, on_x{};  // signs so far, in the three columns
    const auto step = [&](Bonds<units>& signs, int direction, int i) {
      for (int unit = 0; unit < units; ++unit) signs.of[unit] ^= bonds(direction)[i].of[unit];
    };
    const auto product = [&](int direction, int i, const Bonds<units>& a, const Bonds<units>& b) {
      Bonds<units> bond = bonds(direction)[i];
      for (int unit = 0; unit < units; ++unit) bond.of[unit] ^= a.of[unit] ^ b.of[unit];
      return bond;
    };
    for (int p = 0; p < planes; ++p) {
      const int here = flat * p, above = flat * after(p, planes);
      // Red p has blue p above it ...
      const Bonds<units> red_signs = own;
      step(own, plus_z, here + column);
      step(on_y, plus_z, here + at_minus_y);
      step(on_x, plus_z, here + at_plus_x);
      gauged.up[red][word * half + here + column] = {product(minus_y, here + column, red_signs, on_y),
                                                     product(plus_x, here + column, red_signs, on_x)};
      // ... and blue p red p + 1, which knows the bonds as its own in the opposite directions. Signs begin anew at 0.
      const Bonds<units> blue_signs = own;
      step(own, minus_z, above + column);
      step(on_y, minus_z, above + at_minus_y);
      step(on_x, minus_z, above + at_plus_x);
      if (p == planes - 1) {
        gauged.seam[word * flat + column] = own;
        on_y = on_x = {};
      }
      gauged.up[blue][word * half + here + column] = {product(plus_y, above + at_minus_y, blue_signs, on_y),
                                                      product(minus_x, above + at_plus_x, blue_signs, on_x)};
    }
  }
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
