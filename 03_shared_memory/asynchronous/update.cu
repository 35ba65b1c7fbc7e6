// Stage 03, the tile once more: the next one is on its way while this one is computed.
//
// A block takes several tiles of the lattice, one after the other, and has room for two. A spin on its way into a tile
// passes through no register: cp.async copies it from device memory to shared memory while the thread goes on. So a
// thread begins the copies of the next tile, then waits for those of this one, which began a tile ago.

#include <cuda_pipeline.h>

#include "majority/device_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

constexpr int default_width = 16;
constexpr int default_block = 2;
constexpr int largest_block = 5;
constexpr int tiles_per_block = 8;  // side by side

/// Spins along a side of the tile with its halo, and in both tiles.
__host__ __device__ constexpr int tile_side(int width, int b) { return width * b + 2; }
constexpr int spins_of_block(int width, int b) { return 2 * tile_side(width, b) * tile_side(width, b); }

// --- yours: begin the copies of the next tile, wait for this one's, compute, and leave the tile to the one after next
/// The row or column that v means: v may be one before the first, or anywhere behind the last.
__device__ int wrap(int v, int n) { return v < 0 ? n - 1 : v < n ? v : v % n; }

/// Begins to copy a spin. cp.async moves 4, 8 or 16 bytes, so spins of one byte take the way through a register.
template <class Spin>
__device__ void fetch(Spin* to, const Spin* from) {
  if constexpr (sizeof(Spin) >= 4)
    __pipeline_memcpy_async(to, from, sizeof(Spin));
  else
    *to = *from;
}

/// The sum of a spin and its four neighbours. The tile has no borders to wrap around: the halo is part of it.
template <class Spin>
__device__ int sum_of_five(const Spin* spin, int side) {
  return spin[0] + spin[-1] + spin[1] + spin[-side] + spin[side];
}

template <class Spin, int b>
__global__ void __launch_bounds__(1024) update(const Spin* __restrict__ now, Spin* __restrict__ next, int n) {
  extern __shared__ unsigned char shared[];
  const int width = blockDim.x * b, side = width + 2;
  const int first_x = blockIdx.x * tiles_per_block * width, first_y = blockIdx.y * width;
  const int tiles = min(tiles_per_block, (n - first_x + width - 1) / width);  // that begin inside the lattice
  const auto tile = [&](int number) { return reinterpret_cast<Spin*>(shared) + number % 2 * side * side; };

  const auto fetch_tile = [&](int number) {
    const int x0 = first_x + number * width - 1, y0 = first_y - 1;  // of the halo's corner
    for (int row = threadIdx.y; row < side; row += blockDim.y) {
      const Spin* from = &now[std::size_t(wrap(y0 + row, n)) * n];
      for (int column = threadIdx.x; column < side; column += blockDim.x)
        fetch(&tile(number)[row * side + column], &from[wrap(x0 + column, n)]);
    }
  };

  fetch_tile(0);
  __pipeline_commit();
  for (int number = 0; number < tiles; ++number) {
    if (number + 1 < tiles) fetch_tile(number + 1);
    __pipeline_commit();       // one group a tile, the last of them with nothing in it
    __pipeline_wait_prior(1);  // for all groups but the last: this tile's spins are here that this thread has fetched,
    __syncthreads();           // and those of the others

    const int tx = threadIdx.x * b, ty = threadIdx.y * b;  // where this thread's spins begin
#pragma unroll
    for (int dy = 0; dy < b; ++dy) {
#pragma unroll
      for (int dx = 0; dx < b; ++dx) {
        const int x = first_x + number * width + tx + dx, y = first_y + ty + dy;
        if (x >= n || y >= n) continue;  // whole tiles cover the lattice: some places have no spin

        const Spin* spin = &tile(number)[(ty + dy + 1) * side + tx + dx + 1];
        next[std::size_t(y) * n + x] = sum_of_five(spin, side) > 0 ? 1 : -1;
      }
    }
    __syncthreads();  // nobody needs this tile any more: the next turn's copies overwrite it
  }
}
// --- end

template <class Spin>
class Asynchronous : public DeviceSimulation<Spin> {
 public:
  using DeviceSimulation<Spin>::DeviceSimulation;

 protected:
  void launch_step(const Spin* now, Spin* next, int n, int width, int block_side) override {
    const dim3 block(width, width);
    with_constant<1, 2, 3, 4, 5>(block_side, [&]<int b>() {
      const dim3 grid(blocks_for(n, width * b * tiles_per_block), blocks_for(n, width * b));
      const std::size_t bytes = spins_of_block(width, b) * sizeof(Spin);
      CHECK_CUDA(cudaFuncSetAttribute(update<Spin, b>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
      update<Spin, b><<<grid, block, bytes>>>(now, next, n);
    });
  }
};

}  // namespace

std::unique_ptr<majority::Simulation> make_simulation(std::int64_t size, const majority::Launch& wish) {
  const majority::Launch launch = complete(wish, size, default_width, default_block, largest_block);
  refuse_large_tile(launch, spins_of_block);
  return make_engine<Asynchronous>(size, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
