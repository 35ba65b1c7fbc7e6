/// Two ways to give every thread its place in a layout, and every block its samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "app/invalid_input.hpp"
#include "gpu/check.hpp"
#include "spin_glass/engine/launches.hpp"
#include "spin_glass/model/geometry.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// Whether there is an element at the place; some threads of the last blocks have none.
template <class Layout>
__device__ bool inside(const Layout& layout, spin_glass::Place place) {
  return place.y < layout.extent().y && place.z < layout.extent().z;
}

/// Elements in a layout: of one colour, in one sample.
template <class Layout>
int count(const Layout& layout) {
  return layout.extent().x * layout.extent().y * layout.extent().z;
}

/// Thread number i takes element i. The place follows by division.
struct Linear {
  template <class Layout>
  __device__ static spin_glass::Place place(const Layout& layout) {
    return layout.place(static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
  }
  __device__ static unsigned first_sample() { return blockIdx.y; }
  __device__ static unsigned sample_step() { return gridDim.y; }

  template <class Layout>
  static dim3 block(const Layout&, int threads) {
    return dim3(threads);
  }
  template <class Layout>
  static dim3 grid(const Layout& layout, int threads, std::int64_t samples) {
    return dim3(static_cast<unsigned>((count(layout) - 1) / threads + 1), grid_samples(samples));
  }
};

/// The thread's coordinates are the place: x within the block, y within the block and the grid, z within the grid.
/// A block is as wide as a row; nothing is divided.
struct Grid {
  template <class Layout>
  __device__ static spin_glass::Place place(const Layout&) {
    return {static_cast<int>(threadIdx.x), static_cast<int>(blockIdx.x * blockDim.y + threadIdx.y),
            static_cast<int>(blockIdx.y)};
  }
  __device__ static unsigned first_sample() { return blockIdx.z; }
  __device__ static unsigned sample_step() { return gridDim.z; }

  /// As many rows as fit into so many threads, one at least.
  template <class Layout>
  static dim3 block(const Layout& layout, int threads) {
    const int row = layout.extent().x;
    return dim3(row, std::clamp(threads / row, 1, layout.extent().y));
  }
  template <class Layout>
  static dim3 grid(const Layout& layout, int threads, std::int64_t samples) {
    const int rows = static_cast<int>(block(layout, threads).y);
    return dim3((layout.extent().y - 1) / rows + 1, layout.extent().z, grid_samples(samples));
  }
};

/// Throws InvalidInput if a row has more elements than a block of Grid can have threads.
inline void refuse_wide_row(const spin_glass::Problem& problem, const spin_glass::Launch& launch) {
  if (launch.indexing != spin_glass::Indexing::sliced_grid || problem.size / *launch.sites_per_thread <= 1024) return;
  throw InvalidInput("--sites-per-thread is " + std::to_string(*launch.sites_per_thread) +
                     ": with --indexing sliced-grid a block takes a row of " + std::to_string(problem.size) +
                     " sites and has at most 1024 threads; take more sites a thread");
}

}  // namespace psflip::PSFLIP_PLATFORM
