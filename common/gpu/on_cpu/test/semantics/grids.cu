// Cooperative grids: all blocks are there at once, so one may wait for what another writes.
#include <cuda/atomic>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace grids {

using Flag = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>;

/// Launches a cooperative grid and returns the error.
template <class... P, class... A>
cudaError_t launch(dim3 grid, dim3 block, void (*kernel)(P...), A... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// In every round each block adds what the blocks beside it, in a ring, had in the round before. A value travels
/// together with the number of its round, in places for even and odd rounds.
__global__ void add_neighbours(std::uint64_t* mail, std::uint32_t* result, int rounds) {
  const unsigned blocks = gridDim.x, me = blockIdx.x, beside[2] = {(me + 1) % blocks, (me + blocks - 1) % blocks};
  __shared__ std::uint32_t seen[2];
  std::uint32_t value = me + 1;
  for (int round = 0; round < rounds; ++round) {
    std::uint64_t* const places = mail + (round % 2) * blocks;
    if (threadIdx.x == 0) Flag(places[me]).store(std::uint64_t{value} << 32 | (round + 1), cuda::memory_order_relaxed);
    if (threadIdx.x < 2) {
      std::uint64_t letter = 0;
      do letter = Flag(places[beside[threadIdx.x]]).load(cuda::memory_order_relaxed);
      while (static_cast<std::uint32_t>(letter) != static_cast<std::uint32_t>(round + 1));
      seen[threadIdx.x] = static_cast<std::uint32_t>(letter >> 32);
    }
    __syncthreads();
    value += seen[0] + seen[1];
    __syncthreads();
  }
  if (threadIdx.x == 0) result[me] = value;
}

TEST(Grids, WaitForWhatOtherBlocksWrite) {
  for (const unsigned blocks : {1u, 2u, 5u, 16u}) {
    constexpr int rounds = 20;
    DeviceBuffer<std::uint64_t> mail = to_device(std::vector<std::uint64_t>(2 * blocks));
    const auto result = result_of<std::uint32_t>(
        blocks, [&](std::uint32_t* out) { CHECK_CUDA(launch(blocks, 40, add_neighbours, mail.data(), out, rounds)); });
    std::vector<std::uint32_t> expected(blocks);
    for (unsigned b = 0; b < blocks; ++b) expected[b] = b + 1;
    for (int round = 0; round < rounds; ++round) {
      const std::vector<std::uint32_t> old = expected;
      for (unsigned b = 0; b < blocks; ++b) expected[b] += old[(b + 1) % blocks] + old[(b + blocks - 1) % blocks];
    }
    EXPECT_EQ(result, expected);
  }
}

TEST(Grids, MayNotBeLargerThanTheDevice) {
  int blocks = 0, multiprocessors = 0;
  CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_neighbours, 64, 0));
  CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  const auto most = static_cast<unsigned>(blocks * multiprocessors);
  ASSERT_GT(most, 0u);
  DeviceBuffer<std::uint64_t> mail = to_device(std::vector<std::uint64_t>(2 * (most + 1)));
  DeviceBuffer<std::uint32_t> result(most + 1);
  EXPECT_EQ(launch(most, 64, add_neighbours, mail.data(), result.data(), 1), cudaSuccess);
  EXPECT_EQ(launch(most + 1, 64, add_neighbours, mail.data(), result.data(), 1), cudaErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
  CHECK_CUDA(cudaDeviceSynchronize());
}

}  // namespace grids
}  // namespace psflip::PSFLIP_PLATFORM
