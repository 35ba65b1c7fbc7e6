// __shared__: one copy a block, wherever and however it is declared.
#include <cstdint>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace shared_memory {

constexpr int blocks = 200;

template <int size>
__global__ void mirror_static(int* out) {
  __shared__ int tile[size];
  tile[threadIdx.x] = blockIdx.x * size + threadIdx.x;
  __syncthreads();
  out[blockIdx.x * size + threadIdx.x] = tile[size - 1 - threadIdx.x];
}

/// What a grid gives whose blocks write their threads' numbers in the opposite order.
std::vector<int> mirrored(int size) {
  return generate(std::size_t(blocks) * size, [=](int i) { return i / size * size + size - 1 - i % size; });
}

TEST(SharedMemory, TemplatesHaveAnArrayForEachArgument) {
  EXPECT_EQ(result_of<int>(blocks * 32, [](int* out) { mirror_static<32><<<blocks, 32>>>(out); }), mirrored(32));
  EXPECT_EQ(result_of<int>(blocks * 100, [](int* out) { mirror_static<100><<<blocks, 100>>>(out); }), mirrored(100));
}

__device__ int* scratch() {
  __shared__ int memory[64];
  return memory;
}
__global__ void mirror_in_helper(int* out) {
  scratch()[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;
  __syncthreads();
  out[blockIdx.x * 64 + threadIdx.x] = scratch()[63 - threadIdx.x];
}

TEST(SharedMemory, HelpersShareTheBlocksCopy) {
  EXPECT_EQ(result_of<int>(blocks * 64, [](int* out) { mirror_in_helper<<<blocks, 64>>>(out); }), mirrored(64));
}

struct Particle {
  int place;
  double weight;
};
__global__ void mirror_structs(int* out) {
  __shared__ Particle particles[8][8];
  __shared__ int block;
  if (threadIdx.x == 0 && threadIdx.y == 0) block = blockIdx.x;
  particles[threadIdx.y][threadIdx.x].place = threadIdx.y * 8 + threadIdx.x;
  particles[threadIdx.y][threadIdx.x].weight = 0.5;
  __syncthreads();
  const Particle& other = particles[7 - threadIdx.y][7 - threadIdx.x];
  out[thread_in_grid()] = block * 64 + static_cast<int>(other.place * other.weight * 2);
}

TEST(SharedMemory, HoldsStructuresAndScalarsAndTables) {
  EXPECT_EQ(result_of<int>(blocks * 64, [](int* out) { mirror_structs<<<blocks, dim3(8, 8)>>>(out); }), mirrored(64));
}

__global__ void mirror_early_return(int* out, int size) {
  __shared__ int tile[256];
  const int i = threadIdx.x;
  if (i >= size) return;
  tile[i] = blockIdx.x * size + i;
  __syncthreads();
  out[blockIdx.x * size + i] = tile[size - 1 - i];
}

TEST(SharedMemory, ServesBlocksWhoseOtherThreadsHaveReturned) {
  for (const int size : {1, 31, 64, 200})
    EXPECT_EQ(result_of<int>(blocks * size, [=](int* out) { mirror_early_return<<<blocks, 256>>>(out, size); }),
              mirrored(size));
}

__global__ void mirror_dynamic(int* out) {
  extern __shared__ int tile[];
  const int size = blockDim.x;
  tile[threadIdx.x] = blockIdx.x * size + threadIdx.x;
  __syncthreads();
  out[blockIdx.x * size + threadIdx.x] = tile[size - 1 - threadIdx.x];
}

TEST(SharedMemory, DynamicSizeIsTheLaunchs) {
  for (const int size : {1, 40, 1024, 7}) {
    const auto out = result_of<int>(std::size_t(blocks) * size,
                                    [=](int* o) { mirror_dynamic<<<blocks, size, size * sizeof(int)>>>(o); });
    EXPECT_EQ(out, mirrored(size));
  }
}

/// Numbers and letters in one piece of dynamic shared memory, the usual way.
__global__ void mirror_mixed(int* out, int size) {
  extern __shared__ __align__(16) unsigned char memory[];
  double* numbers = reinterpret_cast<double*>(memory);
  signed char* letters = reinterpret_cast<signed char*>(numbers + size);
  const int i = threadIdx.x;
  numbers[i] = blockIdx.x * size + i;
  letters[i] = static_cast<signed char>(i % 100);
  __syncthreads();
  const int j = size - 1 - i;
  out[blockIdx.x * size + i] = letters[j] == j % 100 ? static_cast<int>(numbers[j]) : -1;
}
__global__ void address_of_dynamic(int* misalignment) {
  extern __shared__ int4 vectors[];
  vectors[threadIdx.x] = make_int4(1, 2, 3, 4);
  if (threadIdx.x == 0) *misalignment = static_cast<int>(reinterpret_cast<std::uintptr_t>(vectors) % 16);
}

TEST(SharedMemory, DynamicMemoryIsForAnyType) {
  const int size = 96;
  EXPECT_EQ(result_of<int>(blocks * size, [](int* out) { mirror_mixed<<<blocks, size, size * 9>>>(out, size); }),
            mirrored(size));
  EXPECT_EQ(result_of<int>(1, [](int* out) { address_of_dynamic<<<1, 8, 8 * sizeof(int4)>>>(out); })[0], 0);
}

}  // namespace shared_memory
}  // namespace psflip::PSFLIP_PLATFORM
