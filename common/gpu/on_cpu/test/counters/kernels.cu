// Kernels whose requests, sectors and wavefronts are known. What each access costs stands in recorder_test.py, which
// finds its line by the comment behind it.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdlib>

namespace {

constexpr int lanes = 32, warps = 4, threads = warps * lanes;

__constant__ int table[lanes];
__device__ int number() { return blockIdx.x * blockDim.x + threadIdx.x; }

// ---- global memory
__global__ void coalesced(const int* in, int* out) {
  const int value = in[number()];  // load
  out[number()] = value + 1;       // store
}
__global__ void stride_two(const int* in, int* out) {
  const int value = in[2 * number()];  // load
  out[2 * number()] = value + 1;       // store
}
__global__ void column_major(const int* in, int* out) {
  const int value = in[number() % lanes * lanes + number() / lanes];  // load
  out[number()] = value + 1;
}
__global__ void misaligned(const int* in, int* out) {
  const int value = in[number() + 1];  // load
  out[number()] = value + 1;
}
__global__ void single_bytes(const std::uint8_t* in, std::uint8_t* out) {
  const std::uint8_t value = in[number()];  // load
  out[number()] = value + 1;                // store
}
__global__ void one_word_for_all(const int* in, int* out) {
  const int value = in[blockIdx.x];  // load
  out[number()] = value + 1;
}
__global__ void half_a_warp(const int* in, int* out) {
  if (threadIdx.x % lanes < lanes / 2) return;
  const int value = in[number()];  // load
  out[number()] = value + 1;
}
__global__ void one_lane(const int* in, int* out) {
  if (threadIdx.x % lanes != 0) return;
  for (int i = 0; i < lanes; ++i) {
    const int value = in[number() + i];  // load
    out[number() + i] = value + 1;       // store
  }
}
__global__ void vectors(const int4* in, int4* out) {
  int4 value = in[number()];  // load
  value.x = value.y;
  out[number()] = value;  // store
}
__global__ void count_up(int* out) {
  atomicAdd(&out[threadIdx.x % 8], 1);  // atomic
}

// ---- shared and constant memory
template <int stride>
__device__ void transpose(const int* in, int* out, int* tile) {
  for (int row = threadIdx.x / lanes; row < lanes; row += warps)
    tile[row * stride + threadIdx.x % lanes] = in[row * lanes + threadIdx.x % lanes];  // into the tile
  __syncthreads();
  for (int row = threadIdx.x / lanes; row < lanes; row += warps)
    out[row * lanes + threadIdx.x % lanes] = tile[threadIdx.x % lanes * stride + row];  // out of the tile
}
__global__ void conflicts(const int* in, int* out) {
  __shared__ int tile[lanes * lanes];
  transpose<lanes>(in, out, tile);
}
__global__ void padded(const int* in, int* out) {
  extern __shared__ int padded_tile[];
  transpose<lanes + 1>(in, out, padded_tile);
}
__global__ void shared_vectors(const int4* in, int4* out) {
  __shared__ int4 tile[threads];
  tile[threadIdx.x] = in[number()];  // into the tile
  __syncthreads();
  const int4 value = tile[threadIdx.x ^ 1];  // out of the tile
  out[number()] = value;
}
__global__ void shared_pairs(const int2* in, int2* out) {
  __shared__ int2 tile[2 * threads];
  tile[2 * threadIdx.x] = in[number()];  // into the tile
  __syncthreads();
  const int2 value = tile[2 * threadIdx.x];
  out[number()] = value;
}
__global__ void copied(const int4* in, int4* out) {
  __shared__ int4 tile[threads];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[number()], sizeof(int4));  // into the tile
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const int4 value = tile[threadIdx.x ^ 1];
  out[number()] = value;
}
__global__ void half_a_tile(const int* in, int* out) {
  __shared__ int tile[threads];
  extern __shared__ int other_tile[];
  if (threadIdx.x % 2 == 0) tile[threadIdx.x] = in[number()];
  if (threadIdx.x < 100) other_tile[threadIdx.x] = in[number()];
  __syncthreads();
  const int value = tile[threadIdx.x];              // every other is not there
  out[number()] = value + other_tile[threadIdx.x];  // the last 28 are not there
}
__global__ void fill(int* out) {
  if (threadIdx.x >= 40) out[threadIdx.x] = 1;
}
__global__ void half_an_array(const int* in, int* out) {
  out[number()] = in[number()];  // all but the first block's are not there
}
__global__ void from_constants(int* out) {
  out[number()] = table[number() % 2];  // load
}

// ---- branches
__global__ void branches(int* out) {
  if (threadIdx.x % 2 == 0)  // every other lane
    out[number()] = 1;
  if (threadIdx.x / lanes % 2 == 0)  // every other warp
    out[number()] += 2;
  for (unsigned i = 0; i <= threadIdx.x % 4; ++i)  // once to four times
    out[number()] *= out[i];
}
__global__ void no_branches(int* out) {
  const int value = out[number()];
  out[number()] = value > 3 ? value : 3;
}
__global__ void twice(const int* in, int* out) {  // 32 KiB of each
  for (unsigned pass = 0; pass < 2; ++pass)
    for (unsigned i = threadIdx.x; i < 64 * threads; i += threads) out[i] = in[i];
}

constexpr std::size_t bytes = 65536;

template <class T>
T* array() {
  T* memory = nullptr;
  if (cudaMalloc(&memory, bytes) != cudaSuccess || cudaMemset(memory, 0, bytes) != cudaSuccess) std::exit(1);
  return memory;
}

}  // namespace

int main() {
  int *in = array<int>(), *out = array<int>();
  auto *in_bytes = array<std::uint8_t>(), *out_bytes = array<std::uint8_t>();
  auto *in_vectors = array<int4>(), *out_vectors = array<int4>();
  auto *in_pairs = array<int2>(), *out_pairs = array<int2>();

  const int entries[lanes] = {1, 2, 3};
  cudaMemcpyToSymbol(table, entries, sizeof(entries));

  coalesced<<<3, threads>>>(in, out);
  stride_two<<<3, threads>>>(in, out);
  column_major<<<1, threads>>>(in, out);
  misaligned<<<3, threads>>>(in, out);
  single_bytes<<<3, threads>>>(in_bytes, out_bytes);
  one_word_for_all<<<3, threads>>>(in, out);
  half_a_warp<<<3, threads>>>(in, out);
  one_lane<<<3, threads>>>(in, out);
  vectors<<<3, threads>>>(in_vectors, out_vectors);
  count_up<<<3, threads>>>(out);
  conflicts<<<2, threads>>>(in, out);
  padded<<<1, threads, lanes*(lanes + 1) * sizeof(int)>>>(in, out);
  shared_vectors<<<1, threads>>>(in_vectors, out_vectors);
  copied<<<3, threads>>>(in_vectors, out_vectors);
  shared_pairs<<<1, threads>>>(in_pairs, out_pairs);
  half_a_tile<<<2, threads, threads * sizeof(int)>>>(in, out);
  from_constants<<<3, threads>>>(out);
  branches<<<3, threads>>>(out);
  no_branches<<<3, threads>>>(out);
  twice<<<1, threads>>>(in, out);

  int* half = nullptr;
  if (cudaMalloc(&half, bytes) != cudaSuccess) return 1;
  cudaMemcpy(half, entries, 8 * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(half + 8, out, 32 * sizeof(int), cudaMemcpyDeviceToDevice);
  fill<<<1, threads>>>(half);
  half_an_array<<<3, threads>>>(half, out);
  return cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess ? 0 : 1;
}
