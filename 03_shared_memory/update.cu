// Stage 03: the tile and its halo in shared memory.
//
// Threads of one block have neighbours in common, too. So a block first loads its tile of the lattice, and the rows and
// columns around it (the halo), into memory that all its threads share and that lies on the chip. After the barrier
// every spin that a thread needs is there, whoever loaded it: device memory is read once a spin, plus the halo.

#include "majority/device_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

constexpr int default_width = 16;
constexpr int default_block = 2;
constexpr int largest_block = 5;

/// Spins along a side of the tile with its halo.
__host__ __device__ constexpr int tile_side(int width, int b) { return width * b + 2; }

// --- yours: load tile and halo, wait for the others, sum from the tile; some places have no spin
/// The row or column that v means: v may be one before the first, or anywhere behind the last.
__device__ int wrap(int v, int n) { return v < 0 ? n - 1 : v < n ? v : v % n; }

/// The sum of a spin and its four neighbours. The tile has no borders to wrap around: the halo is part of it.
template <class Spin>
__device__ int sum_of_five(const Spin* spin, int side) {
  return spin[0] + spin[-1] + spin[1] + spin[-side] + spin[side];
}

template <class Spin, int b>
__global__ void __launch_bounds__(1024) update(const Spin* __restrict__ now, Spin* __restrict__ next, int n) {
  extern __shared__ unsigned char shared[];
  Spin* tile = reinterpret_cast<Spin*>(shared);
  const int side = tile_side(blockDim.x, b);
  const int tx = threadIdx.x * b + 1, ty = threadIdx.y * b + 1;  // where this thread's spins begin in the tile
  const int x0 = (blockIdx.x * blockDim.x + threadIdx.x) * b;    // and in the lattice
  const int y0 = (blockIdx.y * blockDim.y + threadIdx.y) * b;

  const auto load = [&](int dx, int dy) {
    tile[(ty + dy) * side + tx + dx] = now[std::size_t(wrap(y0 + dy, n)) * n + wrap(x0 + dx, n)];
  };
#pragma unroll
  for (int dy = 0; dy < b; ++dy) {
#pragma unroll
    for (int dx = 0; dx < b; ++dx) load(dx, dy);
  }
#pragma unroll
  for (int d = 0; d < b; ++d) {  // the threads along the tile's edges bring the halo
    if (threadIdx.x == 0) load(-1, d);
    if (threadIdx.x == blockDim.x - 1) load(b, d);
    if (threadIdx.y == 0) load(d, -1);
    if (threadIdx.y == blockDim.y - 1) load(d, b);
  }
  __syncthreads();

#pragma unroll
  for (int dy = 0; dy < b; ++dy) {
#pragma unroll
    for (int dx = 0; dx < b; ++dx) {
      const int x = x0 + dx, y = y0 + dy;
      if (x >= n || y >= n) continue;  // whole blocks cover the lattice: some places have no spin

      const Spin* spin = &tile[(ty + dy) * side + tx + dx];
      next[std::size_t(y) * n + x] = sum_of_five(spin, side) > 0 ? 1 : -1;
    }
  }
}
// --- end

template <class Spin>
class SharedMemory : public DeviceSimulation<Spin> {
 public:
  using DeviceSimulation<Spin>::DeviceSimulation;

 protected:
  void launch_step(const Spin* now, Spin* next, int n, int width, int block_side) override {
    const dim3 block(width, width);
    with_constant<1, 2, 3, 4, 5>(block_side, [&]<int b>() {
      const dim3 grid(blocks_for(n, width * b), blocks_for(n, width * b));
      const std::size_t tile_bytes = tile_side(width, b) * tile_side(width, b) * sizeof(Spin);
      CHECK_CUDA(cudaFuncSetAttribute(update<Spin, b>, cudaFuncAttributeMaxDynamicSharedMemorySize, tile_bytes));
      update<Spin, b><<<grid, block, tile_bytes>>>(now, next, n);
    });
  }
};

}  // namespace

std::unique_ptr<majority::Simulation> make_simulation(std::int64_t size, const majority::Launch& wish) {
  const majority::Launch launch = complete(wish, size, default_width, default_block, largest_block);
  refuse_large_tile(launch, [](int width, int b) { return tile_side(width, b) * tile_side(width, b); });
  return make_engine<SharedMemory>(size, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
