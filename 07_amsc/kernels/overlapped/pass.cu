// The kernel of march.cuh, and how planes are cut among its blocks.

#include "07_amsc/kernels/overlapped/pass.hpp"

#include <cmath>

#include "07_amsc/kernels/overlapped/march.cuh"

namespace psflip::PSFLIP_PLATFORM {

using amsc::Tile;

namespace {

template <int units, int bundles>
__global__ void __launch_bounds__(amsc::Tile::threads)
    update_overlapped(const Pass pass, const GaugedBonds<units> bonds) {
  extern __shared__ uint4 memory[];
  __shared__ RowBarriers::Memory barriers;
  if (threadIdx.x == 0) RowBarriers::begin(barriers);
  __syncthreads();
  March<prng::Philox<>, units, bundles>(pass, bonds, memory, barriers).run();
}

}  // namespace

double steps_of(const Cut& cut, int planes, std::int64_t systems, int blocks_at_once) {
  const auto blocks = static_cast<double>(systems * cut.tiles_x * cut.tiles_y * cut.chunks);
  return std::ceil(blocks / blocks_at_once) * ((planes - 1) / cut.chunks + 1 + 3);
}

Cut cut_for(int size, int planes, std::int64_t systems, int blocks_at_once) {
  Cut cut{(size - 1) / Tile::columns + 1, (size - 1) / Tile::rows + 1, 1, 0};
  cut.rows = (size - 1) / cut.tiles_y + 1;
  const int shortest = 8;
  for (Cut other = cut; planes / other.chunks >= shortest; ++other.chunks)
    if (steps_of(other, planes, systems, blocks_at_once) < 0.995 * steps_of(cut, planes, systems, blocks_at_once))
      cut = other;
  return cut;
}

bool can_march(const spin_glass::Problem& problem, int samples_per_word, int device) {
  const int filling = 128 / samples_per_word;  // replicas of 16 bytes
  int has_clusters = 0, shared_bytes = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, device));
  CHECK_CUDA(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  const int units = samples_per_word / 32;
  return has_clusters != 0 &&  // compute capability 9.0: it asks a barrier for the parity of its phase
         problem.generator == spin_glass::Generator::philox && problem.replicas % filling == 0 &&
         Tile::bytes(units, bundles_for(units, problem.replicas)) <= static_cast<std::size_t>(shared_bytes);
}

template <int units, int bundles>
void PassKernel<units, bundles>::prepare() {
  CHECK_CUDA(cudaFuncSetAttribute(update_overlapped<units, bundles>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(Tile::bytes(units, bundles))));
}

template <int units, int bundles>
void PassKernel<units, bundles>::launch(const Pass& pass, const GaugedBonds<units>& bonds, cudaStream_t stream) {
  const Cut& cut = pass.cut;
  const auto blocks = static_cast<unsigned>(pass.words * pass.parts * cut.tiles_x * cut.tiles_y * cut.chunks);
  update_overlapped<units, bundles><<<blocks, Tile::threads, Tile::bytes(units, bundles), stream>>>(pass, bonds);
  CHECK_CUDA(cudaGetLastError());
}

template struct PassKernel<1, 1>;
template struct PassKernel<2, 1>;
template struct PassKernel<2, 2>;
template struct PassKernel<4, 1>;

}  // namespace psflip::PSFLIP_PLATFORM
