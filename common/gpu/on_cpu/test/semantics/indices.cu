// Every thread of a grid runs once and knows its place.
#include <numeric>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace indices {

struct Seen {
  uint3 thread, block;
  unsigned block_size, grid_size, times;
};

__global__ void look_around(Seen* seen) {
  Seen& mine = seen[thread_in_grid()];
  mine.thread = threadIdx;
  mine.block = blockIdx;
  mine.block_size = blockDim.x * blockDim.y * blockDim.z;
  mine.grid_size = gridDim.x * gridDim.y * gridDim.z;
  atomicAdd(&mine.times, 1u);
}

void expect_every_place(dim3 grid, dim3 block) {
  const unsigned block_size = block.x * block.y * block.z, grid_size = grid.x * grid.y * grid.z;
  const auto seen =
      result_of<Seen>(std::size_t{block_size} * grid_size, [=](Seen* s) { look_around<<<grid, block>>>(s); });
  for (unsigned i = 0; i < seen.size(); ++i) {
    const unsigned t = i % block_size, b = i / block_size;
    ASSERT_EQ(seen[i].times, 1u);
    ASSERT_EQ(seen[i].thread.x, t % block.x);
    ASSERT_EQ(seen[i].thread.y, t / block.x % block.y);
    ASSERT_EQ(seen[i].thread.z, t / block.x / block.y);
    ASSERT_EQ(seen[i].block.x, b % grid.x);
    ASSERT_EQ(seen[i].block.y, b / grid.x % grid.y);
    ASSERT_EQ(seen[i].block.z, b / grid.x / grid.y);
    ASSERT_EQ(seen[i].block_size, block_size);
    ASSERT_EQ(seen[i].grid_size, grid_size);
  }
}

TEST(Indices, OneThread) { expect_every_place(1, 1); }
TEST(Indices, BlocksThatAreNoMultipleOfAWarp) { expect_every_place(5, 33); }
TEST(Indices, LargestBlock) { expect_every_place(3, 1024); }
TEST(Indices, FlatBlocksAndGrids) { expect_every_place({3, 4}, {5, 7}); }
TEST(Indices, SolidBlocksAndGrids) { expect_every_place({3, 2, 4}, {5, 3, 2}); }
TEST(Indices, DeepestBlock) { expect_every_place({1, 1, 2}, {1, 2, 64}); }

__global__ void count_blocks(unsigned* count) { atomicAdd(count, 1u); }

TEST(Indices, BigGrids) {
  EXPECT_EQ(result_of<unsigned>(1, [](unsigned* n) { count_blocks<<<200001, 1>>>(n); })[0], 200001u);
  EXPECT_EQ(result_of<unsigned>(1, [](unsigned* n) { count_blocks<<<dim3(1, 65535), 2>>>(n); })[0], 2 * 65535u);
  EXPECT_EQ(result_of<unsigned>(1, [](unsigned* n) { count_blocks<<<dim3(1, 1, 65535), 1>>>(n); })[0], 65535u);
}

}  // namespace indices
}  // namespace psflip::PSFLIP_PLATFORM
