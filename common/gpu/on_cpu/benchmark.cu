// What CUDA on host threads costs, on one core unless PSFLIP_CPU_WORKERS says otherwise.
//
// Built with -O3, one core of 2025 is expected to give: no_barrier >= 150 M sites/s, one_barrier >= 15 M sites/s,
// launch of one block <= 2 us. A turn of a block in a cluster <= 10 us: it is
// two switches of host threads.
#include <benchmark/benchmark.h>
#include <cooperative_groups.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "gpu/device_buffer.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

constexpr int width = 16;

/// The majority of a spin and its four neighbours on an n x n torus, a thread per spin.
__global__ void no_barrier(const std::int8_t* __restrict__ now, std::int8_t* __restrict__ next, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  const int left = x > 0 ? x - 1 : n - 1, right = x < n - 1 ? x + 1 : 0;
  const int above = y > 0 ? y - 1 : n - 1, below = y < n - 1 ? y + 1 : 0;
  const auto at = [=](int column, int row) { return now[std::size_t(row) * n + column]; };
  const int sum = at(x, y) + at(left, y) + at(right, y) + at(x, above) + at(x, below);
  next[std::size_t(y) * n + x] = sum > 0 ? 1 : -1;
}

/// The same through a tile in shared memory, a block a tile with its halo; n is a multiple of the width.
__global__ void one_barrier(const std::int8_t* __restrict__ now, std::int8_t* __restrict__ next, int n) {
  __shared__ std::int8_t tile[width + 2][width + 2];
  const int i = threadIdx.x + 1, j = threadIdx.y + 1;
  const int x = blockIdx.x * width + threadIdx.x, y = blockIdx.y * width + threadIdx.y;
  const auto at = [=](int column, int row) { return now[std::size_t((row + n) % n) * n + (column + n) % n]; };
  tile[j][i] = at(x, y);
  if (i == 1) tile[j][0] = at(x - 1, y);
  if (i == width) tile[j][width + 1] = at(x + 1, y);
  if (j == 1) tile[0][i] = at(x, y - 1);
  if (j == width) tile[width + 1][i] = at(x, y + 1);
  __syncthreads();
  const int sum = tile[j][i] + tile[j][i - 1] + tile[j][i + 1] + tile[j - 1][i] + tile[j + 1][i];
  next[std::size_t(y) * n + x] = sum > 0 ? 1 : -1;
}

__global__ void nothing(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x; }

template <auto kernel>
void majority(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  std::vector<std::int8_t> spins(std::size_t(n) * n);
  for (std::size_t i = 0; i < spins.size(); ++i) spins[i] = i * i % 7 < 3 ? 1 : -1;
  DeviceBuffer<std::int8_t> now(spins.size()), next(spins.size());
  now.copy_from_host(spins.data());
  for (auto _ : state) {
    kernel<<<dim3(n / width, n / width), dim3(width, width)>>>(now.data(), next.data(), n);
    CHECK_CUDA(cudaDeviceSynchronize());
    now.swap(next);
  }
  CHECK_CUDA(cudaGetLastError());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(spins.size()));
}
BENCHMARK_TEMPLATE(majority, no_barrier)->Arg(2048)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(majority, one_barrier)->Arg(2048)->Unit(benchmark::kMillisecond);

void launch(benchmark::State& state) {
  const int blocks = static_cast<int>(state.range(0)), threads = static_cast<int>(state.range(1));
  DeviceBuffer<int> out(std::size_t(blocks) * threads);
  for (auto _ : state) {
    nothing<<<blocks, threads>>>(out.data());
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  CHECK_CUDA(cudaGetLastError());
}
BENCHMARK(launch)->ArgNames({"blocks", "threads"})->Args({1, 1})->Args({1, 256})->Args({64, 64});

constexpr int cluster_barriers = 100;

__global__ void wait_often() {
  for (int i = 0; i < cluster_barriers; ++i) cooperative_groups::this_cluster().sync();
}

void cluster_barrier(benchmark::State& state) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(state.range(0));
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(state.range(0));
  config.blockDim = static_cast<unsigned>(state.range(1));
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (auto _ : state) {
    CHECK_CUDA(cudaLaunchKernelEx(&config, wait_often));
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  state.SetItemsProcessed(state.iterations() * cluster_barriers);
}
BENCHMARK(cluster_barrier)
    ->ArgNames({"blocks", "threads"})
    ->Args({2, 32})
    ->Args({8, 32})
    ->Args({8, 256})
    ->UseRealTime();

}  // namespace
}  // namespace psflip::PSFLIP_PLATFORM

int main(int argc, char** argv) {
  setenv("PSFLIP_CPU_WORKERS", "1", 0);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
