// Stage 02: one thread per b x b spins.
//
// Neighbouring spins have neighbours in common: a square of b x b spins needs b * b + 4 * b different spins, not five
// for each. So let one thread compute a whole square. There are b * b times fewer threads to start, and each has more
// loads to wait for at a time. The price: threads of a warp, and what they read and write, now lie b spins apart.

#include "majority/device_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

constexpr int default_width = 16;
constexpr int default_block = 2;
constexpr int largest_block = 5;

// --- yours: which b x b spins are this thread's own? Write the signs; some places have no spin
/// The sum of a spin and its four neighbours. Behind the last row comes the first, behind the last column as well.
template <class Spin>
__device__ int sum_of_five(const Spin* spins, int x, int y, int n) {
  const Spin* spin = spins + std::size_t(y) * n + x;
  const int left = x > 0 ? -1 : n - 1, right = x < n - 1 ? 1 : 1 - n;
  const std::ptrdiff_t last_row = std::ptrdiff_t(n) * (n - 1);
  const std::ptrdiff_t above = y > 0 ? -n : last_row, below = y < n - 1 ? n : -last_row;
  return spin[below] + spin[0] + spin[right] + spin[left] + spin[above];  // the one not cached yet sets out first
}

template <class Spin, int b>
__global__ void __launch_bounds__(1024) update(const Spin* __restrict__ now, Spin* __restrict__ next, int n) {
  const int x0 = (blockIdx.x * blockDim.x + threadIdx.x) * b;
  const int y0 = (blockIdx.y * blockDim.y + threadIdx.y) * b;

#pragma unroll
  for (int dy = 0; dy < b; ++dy) {
#pragma unroll
    for (int dx = 0; dx < b; ++dx) {
      const int x = x0 + dx, y = y0 + dy;
      if (x >= n || y >= n) continue;  // whole blocks cover the lattice: some places have no spin

      next[std::size_t(y) * n + x] = sum_of_five(now, x, y, n) > 0 ? 1 : -1;
    }
  }
}
// --- end

template <class Spin>
class Blocked : public DeviceSimulation<Spin> {
 public:
  using DeviceSimulation<Spin>::DeviceSimulation;

 protected:
  void launch_step(const Spin* now, Spin* next, int n, int width, int block_side) override {
    const dim3 block(width, width);
    with_constant<1, 2, 3, 4, 5>(block_side, [&]<int b>() {
      const dim3 grid(blocks_for(n, width * b), blocks_for(n, width * b));
      update<Spin, b><<<grid, block>>>(now, next, n);
    });
  }
};

}  // namespace

std::unique_ptr<majority::Simulation> make_simulation(std::int64_t size, const majority::Launch& wish) {
  const majority::Launch launch = complete(wish, size, default_width, default_block, largest_block);
  return make_engine<Blocked>(size, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
