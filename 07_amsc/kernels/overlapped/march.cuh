/// Two sweeps in one pass over memory: a tile marches through the lattice along z'.
#pragma once

#include <cuda_pipeline.h>

#include <cstdint>

#include "07_amsc/elements.hpp"
#include "07_amsc/kernels/kept.cuh"
#include "07_amsc/kernels/overlapped/pass.hpp"
#include "07_amsc/kernels/overlapped/row_barriers.cuh"
#include "07_amsc/kernels/overlapped/tile.hpp"
#include "spin_glass/model/problem.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// The planes of a block that are in shared memory, [colour][slot]: spins [bundle][column], then bonds [column].
template <int units, int bundles>
class Ring {
 public:
  using Element = Spins<units, filling<units>>;
  static constexpr int spin_bytes = bundles * amsc::Tile::elements * 16, bond_bytes = amsc::Tile::elements * 8 * units,
                       bonds_begin = 2 * amsc::Tile::ring * spin_bytes;

  __device__ explicit Ring(void* memory) : memory_(kept(static_cast<unsigned char*>(memory))) {}

  /// Column 0 of a plane.
  __device__ Element* spins(Colour colour, int slot, int bundle) const {
    return reinterpret_cast<Element*>(memory_ + (colour * amsc::Tile::ring + slot) * spin_bytes) +
           bundle * amsc::Tile::elements;
  }
  /// A column's bond along -y (0) or +x (1). Both lie side by side if together they are 16 bytes at most; else each has
  /// an array, so that neighbouring threads have different banks.
  __device__ Bonds<units>* bond(Colour colour, int slot, int direction, int column) const {
    auto* const plane =
        reinterpret_cast<Bonds<units>*>(memory_ + bonds_begin + (colour * amsc::Tile::ring + slot) * bond_bytes);
    return plane + (units < 4 ? 2 * column + direction : direction * amsc::Tile::elements + column);
  }

 private:
  unsigned char* memory_;
};

/// A thread's way through the lattice. The block's frame slides by (+1, -1) in (x', y') from plane to plane: all
/// neighbours of a site then lie within one column of its own, to one side of it.
///
/// In the lattice itself that is a step along x and one along z, so y does not change: y = x' + y'.
struct Way {
  int x, y_prime, z;  ///< of the red site in `plane`; x' = x
  int plane;          ///< of the arrays
  int y;

  /// Column (i, j) of the tile at (tile_x, tile_y), in a plane that may be before the first or after the last.
  __device__ Way(const Pass& pass, int tile_x, int tile_y, int i, int j, int first) {
    const int size = pass.layout.size;
    const auto wrapped = [](int v, int n) { return (v % n + n) % n; };
    x = wrapped(tile_x + first - amsc::Tile::halo + i, size);
    y_prime = wrapped(tile_y - first - amsc::Tile::halo + j, size);
    plane = wrapped(first - pass.lowest, pass.stored);
    y = wrapped(x + y_prime, size);
    z = wrapped(2 * first + y_prime, size);
  }
  __device__ void up(const Pass& pass) {
    x = spin_glass::after(x, pass.layout.size);
    y_prime = spin_glass::before(y_prime, pass.layout.size);
    z = spin_glass::after(z, pass.layout.size);
    plane = spin_glass::after(plane, pass.stored);
  }
  __device__ int element(const Sliced& layout) const { return layout.element(x, y_prime, plane); }
  __device__ std::uint32_t site(const Sliced& layout, Colour colour) const {
    const int height = colour == spin_glass::red ? z : spin_glass::after(z, layout.size);
    return static_cast<std::uint32_t>(x + layout.size * (y + layout.size * height));
  }
};

/// A block takes a tile of columns of one word, and marches. Step p updates red plane p, blue plane p - 1, red plane
/// p - 1 again, and blue plane p - 2: the stages, two sweeps. Plane p + 1 is fetched meanwhile. What the tile lacks at
/// its edges it computes itself, as its neighbours do: the draws are numbers of counters, so they are the same.
template <class Prng, int units, int bundles>
class March {
  using Element = Spins<units, filling<units>>;
  static constexpr int stages = amsc::Tile::stages, replicas = bundles * filling<units>;

 public:
  __device__ March(const Pass& pass, const GaugedBonds<units>& bonds, void* memory, RowBarriers::Memory& barriers)
      : pass_(pass),
        bonds_(bonds),
        ring_(memory),
        column_(amsc::Column::of(static_cast<int>(threadIdx.x))),
        here_(column_.j * amsc::Tile::pitch + column_.i),
        barriers_(barriers, column_) {
    const int size = pass.layout.size, planes = pass.end - pass.begin;
    int block = static_cast<int>(blockIdx.x);
    const auto next = [&](int many) {
      const int which = block % many;
      block /= many;
      return which;
    };
    const int tile_x = next(pass.cut.tiles_x) * amsc::Tile::columns, tile_y = next(pass.cut.tiles_y) * pass.cut.rows;
    const int chunk = next(pass.cut.chunks);
    system_ = block;
    part_ = next(pass.parts);
    word_ = block;
    group_ = static_cast<std::uint32_t>(pass.origin.group + word_ / pass.words_per_group);
    begin_ = pass.begin + planes * chunk / pass.cut.chunks;
    end_ = pass.begin + planes * (chunk + 1) / pass.cut.chunks;
    const amsc::Extent extent{min(amsc::Tile::columns, size - tile_x), min(pass.cut.rows, size - tile_y)};
    for (int stage = 0; stage < stages; ++stage)
      if (extent.computes(stage, column_.i, column_.j)) computes_ |= 1u << stage;
    inside_ = extent.inside(column_.i, column_.j);
    copies_ = extent.copies(column_.i, column_.j);
    tile_x_ = tile_x, tile_y_ = tile_y;
  }

  __device__ void run() {
    const int first = begin_ - 1;  // with this step stage 0 begins
    Way way(pass_, tile_x_, tile_y_, column_.i, column_.j, first - 1);
    copy_plane(way, slot(-1));
    remember(way);
    copy_plane(way, slot(0));
    remember(way);
    __pipeline_wait_prior(0);
    __syncthreads();
    make_draws<0>();
    for (int p = first; p <= end_ + 1; ++p) {
      stage<0>(p, way);
      stage<1>(p, way);
      stage<2>(p, way);
      stage<3>(p, way);
    }
  }

 private:
  /// Plane p + ahead of a colour, at step p.
  __device__ int slot(int ahead) const { return (now_ + ahead) & (amsc::Tile::ring - 1); }

  __device__ void copy_plane(const Way& way, int slot) {
    element_[0] = way.element(pass_.layout);
    if (copies_) {
      for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
        const auto* spins = static_cast<const Element*>(pass_.before[colour]) + first_element() + element_[0];
#pragma unroll
        for (int bundle = 0; bundle < bundles; ++bundle)
          __pipeline_memcpy_async(ring_.spins(colour, slot, bundle) + here_, spins + bundle * elements(), 16);
        const BondsUp<units>& up = bonds_.up[colour][word_ * elements() + element_[0]];
        if constexpr (units < 4) {
          __pipeline_memcpy_async(ring_.bond(colour, slot, 0, here_), &up, 8 * units);
        } else {
          __pipeline_memcpy_async(ring_.bond(colour, slot, 0, here_), &up.minus_y, 16);
          __pipeline_memcpy_async(ring_.bond(colour, slot, 1, here_), &up.plus_x, 16);
        }
      }
    }
    __pipeline_commit();
  }

  /// The way goes on to the next plane; what later stages need of this one is kept.
  __device__ void remember(Way& way) {
    for (int age = amsc::Tile::ring - 1; age > 0; --age) element_[age] = element_[age - 1];
    for (int age = amsc::Tile::ring - 1; age > 1; --age) {
      red_site_[age] = red_site_[age - 1];
      blue_site_[age] = blue_site_[age - 1];
    }
    red_site_[1] = way.site(pass_.layout, spin_glass::red);
    blue_site_[1] = way.site(pass_.layout, spin_glass::blue);
    way.up(pass_);
  }

  /// For the site that the stage updates next.
  template <int s>
  __device__ bool computes() const {
    return (computes_ >> s & 1) != 0;
  }

  template <int s>
  __device__ void make_draws() {
    if (!computes<s>()) return;
    constexpr int age = 1 + (s + 1) / 2;
    const std::int64_t first = pass_.sweep + s / 2;
    // The same number, but so the compiler sees that a quadruple begins with it.
    const std::int64_t n = replicas % 4 == 0 ? 4 * (first * (pass_.replicas / 4) + part_ * (replicas / 4))
                                             : first * pass_.replicas + part_ * replicas;
    typename Prng::template Streams<1> stream(
        {}, {0, n, 0, pass_.origin.seed, group_, {s % 2 == 0 ? red_site_[age] : blue_site_[age]}});
    draw(stream, draws_);
  }

  // --- yours: four half-sweeps follow each other through the planes; what does each need, and who has it?
  template <int s>
  __device__ void stage(int p, Way& way) {
    constexpr int later = s / 2;  // stages of the second sweep need a plane less at either end
    const int plane = p - (s + 1) / 2;
    if (computes<s>() && plane >= begin_ - 1 + later && plane <= end_ + 1 - later - s % 2) {
      // What lies above the last blue plane, or below the first red one, is reached across the seam.
      const int across = s % 2 == 0 ? 0 : pass_.layout.size / 2 - 1;
      const bool at_seam = plane == across || plane == (s % 2 == 0 ? pass_.layout.size / 2 : -1);
      if (at_seam)
        update<s, true>(plane);
      else
        update<s, false>(plane);
    }
    if (s == stages - 1) __pipeline_wait_prior(0);
    barriers_.arrive(s % 2);
    // Nobody waits for what comes between.
    if (s == 0 && p <= end_) copy_plane(way, slot(1));
    if (s == stages - 1) {
      remember(way);
      now_ = slot(1);
      for (int stage = 0; stage < stages - 2; ++stage)
        for (int bundle = 0; bundle < bundles; ++bundle) before_[stage][bundle] = latest_[stage][bundle];
    }
    make_draws<(s + 1) % stages>();
    barriers_.wait(s % 2);
  }
  // --- end

  template <int s, bool at_seam>
  __device__ void update(int plane) {
    constexpr Colour colour = Colour(s % 2), others = spin_glass::other(colour);
    constexpr int behind = (s + 1) / 2;
    // In the plane above, and in the one below, where the neighbours along x, y and z are: all within one column.
    constexpr int pitch = amsc::Tile::pitch;
    constexpr int above_z = colour == spin_glass::red ? 0 : pitch - 1, above_y = above_z - pitch,
                  above_x = above_z - pitch + 1, below_z = colour == spin_glass::red ? 1 - pitch : 0,
                  below_y = below_z + pitch, below_x = below_z + pitch - 1;
    const int own = slot(-behind), upper = slot(colour - behind), lower = slot(colour - 1 - behind);

    const Bonds<units> bonds[4] = {
        *ring_.bond(colour, own, 0, here_), *ring_.bond(colour, own, 1, here_),  // along -y and +x: the site's own
        *ring_.bond(others, lower, 0, here_ + below_y), *ring_.bond(others, lower, 1, here_ + below_x)};
    Bonds<units> seam{};
    if constexpr (at_seam) {
      const int flat = pass_.layout.size * pass_.layout.size;
      seam = bonds_.seam[std::int64_t{word_} * flat + element_[1 + behind] % flat];
    }

#pragma unroll
    for (int bundle = 0; bundle < bundles; ++bundle) {
      Element* const mine = ring_.spins(colour, own, bundle) + here_;
      const Element* const above = ring_.spins(others, upper, bundle) + here_;
      const Element* const below = ring_.spins(others, lower, bundle) + here_;
      // What the thread itself has written, in this step or the one before, it still has.
      const Element spins = s >= 2 ? before_[s - 2 < 0 ? 0 : s - 2][bundle] : *mine;
      constexpr bool kept_above = s >= 1, kept_below = s == 1 || s == 2;
      const auto own_above = [&] { return latest_[s - 1 < 0 ? 0 : s - 1][bundle]; };
      const auto own_below = [&] { return before_[s == 2 ? 1 : 0][bundle]; };
      const Element around[4] = {above[above_y], kept_above && above_x == 0 ? own_above() : above[above_x],
                                 below[below_y], kept_below && below_x == 0 ? own_below() : below[below_x]};
      Element up = kept_above && above_z == 0 ? own_above() : above[above_z];
      Element down = kept_below && below_z == 0 ? own_below() : below[below_z];
      if constexpr (at_seam)
        for (int n = 0; n < 4; ++n) (colour == spin_glass::red ? down : up).of[n] ^= seam.of[n % units];

      Element result;
#pragma unroll
      for (int replica = 0; replica < filling<units>; ++replica) {
        const int number = bundle * filling<units> + replica;
        const amsc::Help help = amsc::help(draws_[number], pass_.thresholds[part_ * replicas + number]);
#pragma unroll
        for (int unit = 0; unit < units; ++unit) {
          const int n = replica * units + unit;
          result.of[n] = updated_in_gauge(
              spins.of[n], {around[0].of[n], around[1].of[n], around[2].of[n], around[3].of[n]},
              {bonds[0].of[unit], bonds[1].of[unit], bonds[2].of[unit], bonds[3].of[unit]}, up.of[n], down.of[n], help);
        }
      }
      if (s < stages - 1) *mine = result;
      if (s < stages - 1) latest_[s < stages - 1 ? s : 0][bundle] = result;
      if (s >= stages - 2 && inside_ && plane < end_ && plane >= begin_)
        (static_cast<Element*>(pass_.after[colour]) + first_element() + bundle * elements())[element_[1 + behind]] =
            result;
    }
  }

  /// Of a colour of a word, in an array, for each bundle.
  __device__ std::int64_t elements() const { return pass_.layout.size * pass_.layout.size * pass_.stored; }
  /// Where those begin that the block has.
  __device__ std::int64_t first_element() const { return system_ * bundles * elements(); }

  const Pass& pass_;
  const GaugedBonds<units>& bonds_;
  Ring<units, bundles> ring_;
  const amsc::Column column_;
  const int here_;  ///< the column, in a plane of the ring
  RowBarriers barriers_;
  int system_;  ///< word * parts + part: the replicas of the word that the block has
  int part_, word_, tile_x_, tile_y_, begin_, end_;
  std::uint32_t group_;
  unsigned computes_ = 0;
  bool inside_, copies_;

  int now_ = 0;  ///< the slot of plane p at step p
  // Of planes p + 1, p, p - 1 and p - 2.
  int element_[amsc::Tile::ring] = {};
  std::uint32_t red_site_[amsc::Tile::ring] = {}, blue_site_[amsc::Tile::ring] = {};
  std::uint32_t draws_[replicas] = {};  ///< for the stage to come
  Element latest_[stages - 1][bundles] = {},
                           before_[stages - 2][bundles] = {};  ///< by stage: in this step, in the last
};

}  // namespace psflip::PSFLIP_PLATFORM
