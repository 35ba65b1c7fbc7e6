/// The matrix as the kernels see it: where its numbers lie (linear::Layout) and how they are read (linear::Load).
///
/// matrix.begin(row) is where a row's entries begin, and h(i), p(i), w(i), column(i) are what entry i has.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "06_prng/linear_solver/walks/walks.hpp"
#include "gpu/constants.hpp"
#include "gpu/device_buffer.hpp"

namespace psflip::PSFLIP_PLATFORM {

using linear::Load;

/// Reads for a place (ldg_h, ldg_p, ldg_w or ldg_index) as `how` says.
template <Load how, Load place, class T>
__device__ T load(const T* address) {
  if constexpr (how == place || how == Load::ldg_all)
    return __ldg(address);
  else if constexpr (how == Load::cg)
    return __ldcg(address);
  else if constexpr (how == Load::cv)
    return __ldcv(address);
  else
    return *address;
}

/// What a kernel has as a parameter. The compiler trusts __restrict__ only there, not in a struct.
template <class T>
using Restricted = const T* __restrict__;
template <Load how, class T>
using Pointer = std::conditional_t<how == Load::restricted, Restricted<T>, const T*>;

template <Load way>
struct Arrays {
  static constexpr Load how = way;

  const std::int32_t* begins;
  const double *hs, *ps, *ws;
  const std::int32_t* columns;

  __device__ std::int32_t begin(std::int32_t row) const { return load<how, Load::ldg_index>(begins + row); }
  __device__ double h(std::int32_t i) const { return load<how, Load::ldg_h>(hs + i); }
  __device__ double p(std::int32_t i) const { return load<how, Load::ldg_p>(ps + i); }
  __device__ double w(std::int32_t i) const { return load<how, Load::ldg_w>(ws + i); }
  __device__ std::int32_t column(std::int32_t i) const { return load<how, Load::ldg_index>(columns + i); }
};

struct alignas(32) Entry {  // one sector of a cache line
  double h, p, w;
  std::int32_t column;
};

template <Load way>
struct Structs {
  static constexpr Load how = way;

  const std::int32_t* begins;
  const Entry* entries;

  __device__ std::int32_t begin(std::int32_t row) const { return load<how, Load::ldg_index>(begins + row); }
  __device__ double h(std::int32_t i) const { return load<how, Load::ldg_h>(&entries[i].h); }
  __device__ double p(std::int32_t i) const { return load<how, Load::ldg_p>(&entries[i].p); }
  __device__ double w(std::int32_t i) const { return load<how, Load::ldg_w>(&entries[i].w); }
  __device__ std::int32_t column(std::int32_t i) const { return load<how, Load::ldg_index>(&entries[i].column); }
};

/// The tables in the memory of the current device, in one of the layouts. At most 2^31 - 1 entries.
class DeviceMatrix {
 public:
  DeviceMatrix() = default;
  DeviceMatrix(const linear::Tables& tables, linear::Layout layout)
      : layout_(layout), begins_(std::vector<std::int32_t>(tables.base.begin.begin(), tables.base.begin.end())) {
    if (layout == linear::Layout::arrays) {
      hs_ = DeviceBuffer<double>(tables.base.value);
      ps_ = DeviceBuffer<double>(tables.cdf);
      ws_ = DeviceBuffer<double>(tables.weight);
      columns_ = DeviceBuffer<std::int32_t>(tables.base.column);
    } else {
      std::vector<Entry> entries(tables.cdf.size());
      for (std::size_t i = 0; i < entries.size(); ++i)
        entries[i] = {tables.base.value[i], tables.cdf[i], tables.weight[i], tables.base.column[i]};
      entries_ = DeviceBuffer<Entry>(entries);
    }
  }

  static double bytes(const linear::Tables& tables, linear::Layout layout) {
    const double entry = layout == linear::Layout::arrays ? 3 * sizeof(double) + sizeof(std::int32_t) : sizeof(Entry);
    return entry * static_cast<double>(tables.cdf.size()) + 4.0 * static_cast<double>(tables.base.begin.size());
  }

  /// Calls f.operator()<Matrix, types of pointers...>(pointers...): a kernel that takes these makes
  /// Matrix{pointers...}. Compiled are the loads and layouts that linear::check allows.
  template <class F>
  void pass_to(F f, Load how) const {
    if (layout_ == linear::Layout::structs)
      how == Load::ldg_all ? pass_structs<Load::ldg_all>(f) : pass_structs<Load::plain>(f);
    else
      with_constant<0, 1, 2, 3, 4, 5, 6, 7, 8>(static_cast<int>(how),
                                               [&]<int load>() { pass_arrays<static_cast<Load>(load)>(f); });
  }

  /// The same for Layout::arrays and Load::plain, without the others.
  template <class F>
  void pass_plain_to(F f) const {
    pass_arrays<Load::plain>(f);
  }

 private:
  template <Load how, class F>
  void pass_arrays(F f) const {
    f.template operator()<Arrays<how>, Pointer<how, std::int32_t>, Pointer<how, double>, Pointer<how, double>,
                          Pointer<how, double>, Pointer<how, std::int32_t>>(begins_.data(), hs_.data(), ps_.data(),
                                                                            ws_.data(), columns_.data());
  }
  template <Load how, class F>
  void pass_structs(F f) const {
    f.template operator()<Structs<how>, const std::int32_t*, const Entry*>(begins_.data(), entries_.data());
  }

  linear::Layout layout_ = linear::Layout::arrays;
  DeviceBuffer<std::int32_t> begins_, columns_;
  DeviceBuffer<double> hs_, ps_, ws_;
  DeviceBuffer<Entry> entries_;
};

}  // namespace psflip::PSFLIP_PLATFORM
