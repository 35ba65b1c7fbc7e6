// __constant__ and __device__ variables.
#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace constants {

struct Rule {
  int threshold;
  float weight;
};

__constant__ int initialised = 7;
__constant__ int table[5];
__constant__ Rule rule;
__device__ int counter;

__global__ void read_constants(int* out) {
  const int i = threadIdx.x;
  if (i < 5) out[i] = table[i];
  if (i == 5) out[i] = initialised;
  if (i == 6) out[i] = rule.threshold;
  if (i == 7) out[i] = static_cast<int>(rule.weight * 2);
}
std::vector<int> constants() {
  return result_of<int>(8, [](int* out) { read_constants<<<1, 8>>>(out); });
}

TEST(Constants, AreWhatTheHostLastCopied) {
  const int first[] = {1, 2, 3, 4, 5}, second[] = {30, 40};
  const Rule copied = {-3, 1.5f};
  CHECK_CUDA(cudaMemcpyToSymbol(table, first, sizeof first));
  CHECK_CUDA(cudaMemcpyToSymbol(rule, &copied, sizeof copied));
  EXPECT_EQ(constants(), std::vector<int>({1, 2, 3, 4, 5, 7, -3, 3}));

  CHECK_CUDA(cudaMemcpyToSymbol(table, second, sizeof second, 2 * sizeof(int)));
  EXPECT_EQ(constants(), std::vector<int>({1, 2, 30, 40, 5, 7, -3, 3}));

  int back[5] = {};
  CHECK_CUDA(cudaMemcpyFromSymbol(back, table, sizeof back));
  EXPECT_EQ(std::vector<int>(back, back + 5), std::vector<int>({1, 2, 30, 40, 5}));
}

TEST(Constants, CopiesComeBetweenTheLaunchesAroundThem) {
  DeviceBuffer<int> before(8), after(8);
  const int old_table[] = {1, 1, 1, 1, 1}, new_table[] = {2, 2, 2, 2, 2};
  CHECK_CUDA(cudaMemcpyToSymbol(table, old_table, sizeof old_table));
  read_constants<<<1, 5>>>(before.data());
  CHECK_CUDA(cudaMemcpyToSymbol(table, new_table, sizeof new_table));
  read_constants<<<1, 5>>>(after.data());
  EXPECT_EQ(to_host(before)[4], 1);
  EXPECT_EQ(to_host(after)[4], 2);
}

TEST(Constants, RefuseCopiesBeyondTheirEnd) {
  const int six[6] = {};
  EXPECT_EQ(cudaMemcpyToSymbol(table, six, sizeof six), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(table, six, 2 * sizeof(int), 4 * sizeof(int)), cudaErrorInvalidValue);
  cudaGetLastError();
}

__global__ void count_threads() { atomicAdd(&counter, 1); }

TEST(DeviceVariables, KeepTheirValueFromLaunchToLaunch) {
  const int start = 5;
  CHECK_CUDA(cudaMemcpyToSymbol(counter, &start, sizeof start));
  for (int i = 0; i < 3; ++i) count_threads<<<4, 40>>>();
  int value = 0;
  CHECK_CUDA(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  EXPECT_EQ(value, 5 + 3 * 4 * 40);
}

}  // namespace constants
}  // namespace psflip::PSFLIP_PLATFORM
