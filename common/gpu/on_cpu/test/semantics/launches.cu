// Launches: what may be launched and how, what is refused, and with which error.
#include <thread>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace launches {

__global__ void ran(int* flag) { *flag = 1; }

/// The error of a launch that must not run; the kernel gets the address to write to.
template <class Launch>
cudaError_t refusal(Launch launch) {
  DeviceBuffer<int> flag(1);
  CHECK_CUDA(cudaMemset(flag.data(), 0, sizeof(int)));
  launch(flag.data());
  const cudaError_t error = cudaGetLastError();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "asking for the error forgets it";
  EXPECT_EQ(to_host(flag)[0], 0) << "the kernel ran";
  return error;
}

/// A shape that no device can run: CUDA 13 says so with another error than those before it.
bool refused_shape(cudaError_t error) {
  return error == cudaErrorInvalidConfiguration || error == cudaErrorInvalidValue;
}

TEST(Launches, OfBlocksTooLargeAreRefused) {
  const dim3 too_large[] = {1025, {32, 33}, {1, 1, 65}, {1, 2048}, {16, 16, 5}, 0, {4, 0}, {4, 4, 0}};
  for (const dim3 block : too_large)
    EXPECT_TRUE(refused_shape(refusal([=](int* flag) { ran<<<1, block>>>(flag); })))
        << block.x << " " << block.y << " " << block.z;
}

TEST(Launches, OfEmptyOrTooLargeGridsAreRefused) {
  const dim3 grids[] = {0, {1, 0}, {1, 1, 0}, {1, 65536}, {1, 1, 65536}, 0x80000000u};
  for (const dim3 grid : grids)
    EXPECT_TRUE(refused_shape(refusal([=](int* flag) { ran<<<grid, 1>>>(flag); })))
        << grid.x << " " << grid.y << " " << grid.z;
}

__global__ void __launch_bounds__(64) bounded(int* flag) { *flag = 1; }
template <int threads>
__global__ void  // the words between do not matter
__launch_bounds__(threads > 32 ? 32 : threads, 2) bounded_by_parameter(int* flag) {
  __syncthreads();
  *flag = 1;
}

/// Which of its errors CUDA chooses for that is not documented.
bool refused_bounds(cudaError_t error) { return error == cudaErrorLaunchOutOfResources || refused_shape(error); }

TEST(Launches, WithMoreThreadsThanTheKernelSBoundsAreRefused) {
  const auto launch = [](auto kernel, dim3 block) {
    return refusal([=](int* flag) {
      kernel<<<2, block>>>(flag);
      cudaDeviceSynchronize();  // on the CPU path late streams say it then
    });
  };
  EXPECT_TRUE(refused_bounds(launch(bounded, 65)));
  EXPECT_TRUE(refused_bounds(launch(bounded, dim3(8, 9))));
  EXPECT_TRUE(refused_bounds(launch(bounded_by_parameter<100>, 33)));
  EXPECT_TRUE(refused_bounds(launch(bounded_by_parameter<8>, 9)));
  DeviceBuffer<int> flag(1);
  bounded<<<1, 64>>>(flag.data());
  bounded_by_parameter<100><<<1, 32>>>(flag.data());
  CHECK_CUDA(cudaGetLastError());
  EXPECT_EQ(to_host(flag)[0], 1);
}

__global__ void use_shared(int* out, int ints) {
  extern __shared__ int memory[];
  for (int i = threadIdx.x; i < ints; i += blockDim.x) memory[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < ints; i += blockDim.x)
    if (memory[i] != i) atomicAdd(out, 1);
}
template <int number>
__global__ void use_more_shared(int* out, int ints) {
  extern __shared__ int memory[];
  for (int i = threadIdx.x; i < ints; i += blockDim.x) memory[i] = number * i;
  __syncthreads();
  for (int i = threadIdx.x; i < ints; i += blockDim.x)
    if (memory[i] == number * i) atomicAdd(out, 1);
}

int most_shared_memory() {
  int bytes = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  return bytes;
}

TEST(Launches, HaveUpTo48KiBOfDynamicSharedMemory) {
  const int limit = 48 * 1024;
  EXPECT_EQ(result_of<int>(1, [=](int* out) { use_shared<<<2, 64, limit>>>(out, limit / 4); })[0], 0);
  EXPECT_EQ(refusal([=](int* flag) { use_shared<<<2, 64, limit + 1>>>(flag, 0); }), cudaErrorInvalidValue);
}

TEST(Launches, HaveMoreDynamicSharedMemoryOnRequest) {
  const int limit = most_shared_memory();
  CHECK_CUDA(cudaFuncSetAttribute(use_more_shared<3>, cudaFuncAttributeMaxDynamicSharedMemorySize, limit));
  EXPECT_EQ(result_of<int>(1, [=](int* out) { use_more_shared<3><<<2, 64, limit>>>(out, limit / 4); })[0],
            2 * (limit / 4));
  EXPECT_EQ(refusal([=](int* flag) { use_more_shared<3><<<2, 64, limit + 1>>>(flag, 0); }), cudaErrorInvalidValue);
  EXPECT_EQ(refusal([=](int* flag) { use_more_shared<4><<<2, 64, 48 * 1024 + 1>>>(flag, 0); }), cudaErrorInvalidValue)
      << "another kernel, although of the same template";
  EXPECT_EQ(cudaFuncSetAttribute(use_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, limit + 1),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(use_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, -1), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Errors, PeekKeepsAndGetForgets) {
  EXPECT_EQ(cudaSetDevice(1000), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  CHECK_CUDA(cudaDeviceSynchronize());  // a call that succeeds does not forget an error
  DeviceBuffer<int> flag(1);
  ran<<<1, 1>>>(flag.data());
  EXPECT_EQ(to_host(flag)[0], 1) << "nor does an old error stop a launch";
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Errors, BelongToAHostThread) {
  EXPECT_EQ(cudaSetDevice(1000), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST(Errors, HaveNames) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
}

// ---- kernels and arguments of every kind

struct Lattice {
  int size;
  int* spins;
  __host__ __device__ int at(int i) const { return spins[i % size]; }
};

__global__ void by_value(Lattice lattice, float factor, bool negative, unsigned char offset, long long* out) {
  out[threadIdx.x] = (negative ? -1 : 1) * static_cast<long long>(factor * lattice.at(threadIdx.x)) + offset;
}

TEST(Launches, ConvertAndCopyTheirArguments) {
  auto spins = to_device(std::vector<int>({1, 2, 3}));
  Lattice lattice = {3, spins.data()};
  DeviceBuffer<long long> out(6);
  by_value<<<1, 6>>>(lattice, 2, true, 100, out.data());  // int to float and to unsigned char
  lattice = {1, nullptr};                                 // too late to matter
  EXPECT_EQ(to_host(out), std::vector<long long>({98, 96, 94, 98, 96, 94}));
}

template <class T>
__global__ void fill(T* all, T value) {
  all[threadIdx.x] = value;
}
template <class T, int stride>
__global__ void fill_every(T* all, T value) {
  all[threadIdx.x * stride] = value;
}
__global__ void nothing() {}

TEST(Launches, OfTemplatesThatDeduceTheirArguments) {
  EXPECT_EQ(result_of<int>(4, [](int* out) { fill<<<1, 4>>>(out, 7); }), std::vector<int>(4, 7));
  EXPECT_EQ(result_of<float>(4, [](float* out) { fill<<<1, 4>>>(out, 0.5f); }), std::vector<float>(4, 0.5f));
  EXPECT_EQ(result_of<int>(4, [](int* out) { fill<int><<<1, 4>>>(out, 7); }), std::vector<int>(4, 7));
  EXPECT_EQ(result_of<int>(4, [](int* out) { fill_every<int, (1 > 0 ? 2 : 1)><<<1, 2>>>(out, 7); }),
            std::vector<int>({7, 0, 7, 0}));
}

TEST(Launches, ThroughPointersAndWithoutArguments) {
  void (*const kernels[])(int*, int) = {fill<int>, fill_every<int, 2>};
  EXPECT_EQ(result_of<int>(4, [=](int* out) { kernels[1]<<<1, 2>>>(out, 5); }), std::vector<int>({5, 0, 5, 0}));
  const auto kernel = kernels[0];
  EXPECT_EQ(result_of<int>(4, [=](int* out) { (*kernel)<<<1, 3>>>(out, 5); }), std::vector<int>({5, 5, 5, 0}));
  nothing<<<2, 2>>>();
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
}

__global__ void fill_grid(int* all, int value) { all[thread_in_grid()] = value; }

TEST(Launches, TakeTheirShapeFromAnyNumber) {
  const long long blocks = 2;
  const int threads = 3, shared_bytes = 16;
  const auto filled = [](auto launch) { return result_of<int>(10, launch); };
  const auto first = [](int count) { return generate(10, [=](int i) { return i < count ? 1 : 0; }); };
  EXPECT_EQ(filled([=](int* out) { fill_grid<<<blocks, threads, shared_bytes>>>(out, 1); }), first(6));
  EXPECT_EQ(filled([=](int* out) { fill_grid<<<{1, 2}, {4, 1, 1}, shared_bytes, 0>>>(out, 1); }), first(8));
}

}  // namespace launches
}  // namespace psflip::PSFLIP_PLATFORM
