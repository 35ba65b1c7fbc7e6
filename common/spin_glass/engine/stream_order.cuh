/// The way between the order in which an engine keeps random streams on its device, that of a layout, and the canonical
/// one (spin_glass/engine/simulation.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/device_buffer.hpp"
#include "spin_glass/engine/lattices.cuh"
#include "spin_glass/engine/simulation.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// Whether the streams of a generator can leave the engine: it says how many words of state their future depends on.
/// Word n of a stream's sequence lies in slot n mod Prng::words, so those `history` words end before the slot of
/// the next number.
template <class Prng>
concept HasHistory = requires {
  Prng::history;
};

/// The slot of word i of the history, oldest first, of a stream that has given n numbers.
template <HasHistory Prng>
std::int64_t history_slot(int i, std::int64_t n) {
  return (n + Prng::words - Prng::history + i) % std::max(Prng::words, 1);
}

/// How an engine stores its streams: number copy * half + i is that of element i of a colour, in a copy for one or
/// several samples. The first copies_per_group copies have equal streams, so have the next, ...
template <class Layout>
struct StreamOrder {
  Layout layout;  ///< of single sites
  int size;       ///< L
  std::int64_t copies, copies_per_group;
  std::int64_t half_sweeps, replicas;  ///< how many were done, and there are: so each has given draws() numbers

  PSFLIP_HOST_DEVICE std::int64_t sites() const { return std::int64_t{size} * size * size; }
  /// Streams of a colour in a copy.
  PSFLIP_HOST_DEVICE std::int64_t elements() const {
    return std::int64_t{layout.extent().x} * layout.extent().y * layout.extent().z;
  }
  std::int64_t groups() const { return (copies - 1) / copies_per_group + 1; }
  std::int64_t draws(Colour colour) const { return (half_sweeps + (colour == spin_glass::red)) / 2 * replicas; }
};

/// One word of the streams of `groups` groups, from number `first` on: canonical[(group - first) L^3 + s]. Only of the
/// sites that the layout owns.
template <class Layout>
__global__ void take_stream_word(const std::uint32_t* word, std::uint32_t* canonical, StreamOrder<Layout> order,
                                 Colour colour, std::int64_t first, std::int64_t groups) {
  const std::int64_t elements = order.elements();
  for_each_element(groups * elements, [&](std::int64_t number_of_all) {
    const std::int64_t group = number_of_all / elements, i = number_of_all % elements;
    const spin_glass::Place place = order.layout.place(static_cast<int>(i));
    if (!owns(order.layout, colour, place)) return;
    const std::int64_t s = number(order.layout.site(colour, place), order.size);
    canonical[group * order.sites() + s] = word[(first + group) * order.copies_per_group * elements + i];
  });
}

/// The same in the other direction, to all copies of a group.
template <class Layout>
__global__ void put_stream_word(std::uint32_t* word, const std::uint32_t* canonical, StreamOrder<Layout> order,
                                Colour colour, std::int64_t first, std::int64_t groups) {
  const std::int64_t elements = order.elements(), begin = first * order.copies_per_group;
  const std::int64_t all = groups * order.copies_per_group;
  const std::int64_t copies = begin + all < order.copies ? all : order.copies - begin;
  for_each_element(copies * elements, [&](std::int64_t number_of_all) {
    const std::int64_t copy = number_of_all / elements, i = number_of_all % elements;
    const std::int64_t s = number(order.layout.site(colour, order.layout.place(static_cast<int>(i))), order.size);
    word[(begin + copy) * elements + i] = canonical[copy / order.copies_per_group * order.sites() + s];
  });
}

/// Calls f(word i of the canonical order, first group, groups, buffer on the device) for one part after the other.
template <class Prng, class Layout, class F>
void for_each_part_of_streams(const StreamOrder<Layout>& order, F f) {
  const std::int64_t sites = order.sites(), groups = order.groups();
  const std::int64_t at_once = std::clamp<std::int64_t>(transfer_bytes / 4 / sites, 1, groups);
  DeviceBuffer<std::uint32_t> part(static_cast<std::size_t>(Prng::history > 0 ? at_once * sites : 1));
  for (int i = 0; i < Prng::history; ++i)
    for (std::int64_t first = 0; first < groups; first += at_once)
      f(i, first, std::min(at_once, groups - first), part.data());
}

/// What Resumable::save_streams() is to do; 0 for the sites that the layout does not own. words[colour] are the
/// engine's States::words.
template <class Prng, class Layout>
void save_streams(const std::uint32_t* const (&words)[2], const StreamOrder<Layout>& order,
                  const spin_glass::TakeWord& take) {
  const std::int64_t sites = order.sites();
  std::vector<std::uint32_t> canonical(static_cast<std::size_t>(order.groups() * sites));
  for_each_part_of_streams<Prng>(order, [&](int i, std::int64_t first, std::int64_t groups, std::uint32_t* part) {
    CHECK_CUDA(cudaMemset(part, 0, 4 * groups * sites));
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      const std::int64_t slot = history_slot<Prng>(i, order.draws(colour));
      take_stream_word<<<setup_blocks(groups * order.elements()), setup_threads>>>(
          words[colour] + slot * order.copies * order.elements(), part, order, colour, first, groups);
      CHECK_CUDA(cudaGetLastError());
    }
    CHECK_CUDA(cudaMemcpy(&canonical[static_cast<std::size_t>(first * sites)], part, 4 * groups * sites,
                          cudaMemcpyDeviceToHost));
    if (first + groups == order.groups()) take(canonical);
  });
}

/// What Resumable::resume() is to do about streams; order.half_sweeps are those that were done when they were saved.
template <class Prng, class Layout>
void restore_streams(std::uint32_t* const (&words)[2], const StreamOrder<Layout>& order,
                     const spin_glass::GiveWord& give) {
  const std::int64_t sites = order.sites();
  std::vector<std::uint32_t> canonical(static_cast<std::size_t>(order.groups() * sites));
  for_each_part_of_streams<Prng>(order, [&](int i, std::int64_t first, std::int64_t groups, std::uint32_t* part) {
    if (first == 0) give(canonical);
    CHECK_CUDA(cudaMemcpy(part, &canonical[static_cast<std::size_t>(first * sites)], 4 * groups * sites,
                          cudaMemcpyHostToDevice));
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      const std::int64_t slot = history_slot<Prng>(i, order.draws(colour));
      const std::int64_t elements = groups * order.copies_per_group * order.elements();
      put_stream_word<<<setup_blocks(elements), setup_threads>>>(words[colour] + slot * order.copies * order.elements(),
                                                                 part, order, colour, first, groups);
      CHECK_CUDA(cudaGetLastError());
    }
  });
  CHECK_CUDA(cudaDeviceSynchronize());
}

}  // namespace psflip::PSFLIP_PLATFORM
