/// Barriers for the warps that need each other, in two halves.
#pragma once

#include <cstdint>

#include "07_amsc/kernels/kept.cuh"
#include "07_amsc/kernels/mbarrier.cuh"
#include "07_amsc/kernels/overlapped/tile.hpp"
#include "gpu/check.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// After a stage a row needs the rows beside it, not all of them. So the upper and the lower half of the rows have a
/// barrier each: a row waits for the half to which it and the rows beside it belong, the warps with the halo columns,
/// which lie in all rows, wait for both. Between arriving and waiting a thread does what needs no other thread's spins.
class RowBarriers {
 public:
  static constexpr int halves = 2, rows = amsc::Tile::height / halves;

  /// In shared memory. Two for each half, in turns: a slow warp of one half could miss that a barrier of the other
  /// half was completed if it were completed twice.
  struct Memory {
    __mbarrier_t of[halves][2];
  };

  /// For one thread of a block, before __syncthreads().
  __device__ static void begin(Memory& memory) {
    constexpr int beside_rows = amsc::Tile::warps - amsc::Tile::height;
    for (auto& half : memory.of)
      for (__mbarrier_t& barrier : half) __mbarrier_init(&barrier, 32 * (rows + beside_rows));
  }

  __device__ RowBarriers(Memory& memory, const amsc::Column& column) : memory_(kept(&memory)) {
    const auto half_of = [](int row) { return 1u << row / rows; };
    const int last = amsc::Tile::height - 1, j = column.j;
    const unsigned all = (1u << halves) - 1;
    arrives_ = column.in_row ? half_of(j) : all;
    waits_ = column.in_row ? half_of(j > 0 ? j - 1 : 0) | half_of(j < last ? j + 1 : last) : all;
    arrives_ = __shfl_sync(~0u, arrives_, 0);  // the warp's: the compiler then knows that no thread branches alone
    waits_ = __shfl_sync(~0u, waits_, 0);
  }

  /// `turn` is 0 and 1, in turns. Every lane arrives for itself: one for all, after __syncwarp(), is 0.7 % faster, and
  /// racecheck would not understand it. Waiting is asking again and again: a warp that lets itself be woken comes late.
  __device__ void arrive(int turn) const {
    for (int half = 0; half < halves; ++half)
      if ((arrives_ >> half & 1) != 0) __mbarrier_arrive(&memory_->of[half][turn]);
  }
  __device__ void wait(int turn) {
    for (int half = 0; half < halves; ++half) {
      if ((waits_ >> half & 1) == 0) continue;
      while (!__mbarrier_test_wait_parity(&memory_->of[half][turn], parity_)) {
      }
    }
    parity_ ^= turn == 1;  // both have been used once
  }

 private:
  Memory* memory_;
  unsigned arrives_, waits_;
  bool parity_ = false;
};

}  // namespace psflip::PSFLIP_PLATFORM
