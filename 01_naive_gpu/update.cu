// Stage 01: one thread per spin.
//
// The loops of stage 00 are gone: the grid of threads is the loop. Each thread works out which spin is its own, reads
// it and its four neighbours from the old lattice, and writes one spin of the new one. No thread reads what another
// writes, so all of them may run at once, in any order.

#include "majority/device_simulation.cuh"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

constexpr int default_width = 16;
constexpr int default_block = 1;
constexpr int largest_block = 1;

// --- yours: which spin is this thread's own? Write the sign of the sum of five; some threads have no spin
/// The sum of a spin and its four neighbours. Behind the last row comes the first, behind the last column as well.
template <class Spin>
__device__ int sum_of_five(const Spin* spins, int x, int y, int n) {
  const Spin* spin = spins + std::size_t(y) * n + x;
  const int left = x > 0 ? -1 : n - 1, right = x < n - 1 ? 1 : 1 - n;
  const std::ptrdiff_t last_row = std::ptrdiff_t(n) * (n - 1);
  const std::ptrdiff_t above = y > 0 ? -n : last_row, below = y < n - 1 ? n : -last_row;
  return spin[below] + spin[0] + spin[right] + spin[left] + spin[above];  // the one not cached yet sets out first
}

template <class Spin>
__global__ void __launch_bounds__(1024) update(const Spin* __restrict__ now, Spin* __restrict__ next, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;  // whole blocks cover the lattice: some threads have no spin

  next[std::size_t(y) * n + x] = sum_of_five(now, x, y, n) > 0 ? 1 : -1;
}
// --- end

template <class Spin>
class NaiveGpu : public DeviceSimulation<Spin> {
 public:
  using DeviceSimulation<Spin>::DeviceSimulation;

 protected:
  void launch_step(const Spin* now, Spin* next, int n, int width, int) override {
    const dim3 block(width, width);
    const dim3 grid(blocks_for(n, width), blocks_for(n, width));
    update<<<grid, block>>>(now, next, n);
  }
};

}  // namespace

std::unique_ptr<majority::Simulation> make_simulation(std::int64_t size, const majority::Launch& wish) {
  const majority::Launch launch = complete(wish, size, default_width, default_block, largest_block);
  return make_engine<NaiveGpu>(size, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
