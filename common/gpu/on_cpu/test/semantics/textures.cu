// Texture objects over linear memory, as the spin-glass stages read their couplings.
#include <algorithm>
#include <climits>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace textures {

/// A texture over all of a buffer, or over its first elements.
template <class T>
class Texture {
 public:
  explicit Texture(DeviceBuffer<T>& memory) : Texture(memory.data(), memory.size()) {}
  Texture(T* memory, std::size_t elements) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<T>();
    resource.res.linear.sizeInBytes = elements * sizeof(T);
    cudaTextureDesc description{};
    description.readMode = cudaReadModeElementType;
    error = cudaCreateTextureObject(&handle, &resource, &description, nullptr);
  }
  ~Texture() {
    if (error == cudaSuccess) cudaDestroyTextureObject(handle);
  }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;

  cudaTextureObject_t handle = 0;
  cudaError_t error;
};

template <class T>
__global__ void fetch(cudaTextureObject_t texture, int first, int count, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = tex1Dfetch<T>(texture, first + i);
}

template <class T>
std::vector<T> fetched(const Texture<T>& texture, int first, int count) {
  EXPECT_EQ(texture.error, cudaSuccess);
  return result_of<T>(count, [&](T* out) { fetch<<<(count + 31) / 32, 32>>>(texture.handle, first, count, out); });
}

template <class T>
void expect_elements() {
  const int count = 1000;
  auto memory = to_device(generate(count, [](int i) { return T(i * 37 - 500); }));
  const auto around = fetched(Texture<T>(memory), -5, count + 10);
  EXPECT_EQ(around, generate(count + 10, [=](int i) { return i < 5 || i >= count + 5 ? T(0) : T((i - 5) * 37 - 500); }))
      << "zero outside, below and above";
}

TEST(Textures, FetchScalars) {
  expect_elements<int>();
  expect_elements<unsigned>();
  expect_elements<float>();
  expect_elements<short>();
  expect_elements<unsigned short>();
  expect_elements<signed char>();
  expect_elements<unsigned char>();
}

TEST(Textures, FetchPairs) {
  auto memory = to_device(generate(64, [](int i) { return make_uint2(i, ~i); }));
  const auto all = fetched(Texture<uint2>(memory), 0, 65);
  for (unsigned i = 0; i < 64; ++i) {
    EXPECT_EQ(all[i].x, i);
    EXPECT_EQ(all[i].y, ~i);
  }
  EXPECT_EQ(all[64].x | all[64].y, 0u);
}

TEST(Textures, FetchFours) {
  auto signed_memory = to_device(generate(64, [](int i) { return make_int4(i, -i, i * i, 7); }));
  const auto all = fetched(Texture<int4>(signed_memory), 0, 64);
  auto unsigned_memory = to_device(generate(64, [](int i) { return make_uint4(i, ~i, i * i, 1u << 31); }));
  const auto all_unsigned = fetched(Texture<uint4>(unsigned_memory), -1, 65);
  auto bytes = to_device(generate(64, [](int i) { return make_uchar4(i, 2 * i, 3 * i, 255 - i); }));
  const auto all_bytes = fetched(Texture<uchar4>(bytes), 0, 64);
  for (int i = 0; i < 64; ++i) {
    EXPECT_TRUE(all[i].x == i && all[i].y == -i && all[i].z == i * i && all[i].w == 7) << i;
    const uint4 u = all_unsigned[i + 1];
    EXPECT_TRUE(u.x == unsigned(i) && u.y == ~unsigned(i) && u.z == unsigned(i * i) && u.w == 1u << 31) << i;
    const uchar4 b = all_bytes[i];
    EXPECT_TRUE(b.x == i && b.y == 2 * i && b.z == 3 * i && b.w == 255 - i) << i;
  }
  EXPECT_EQ(all_unsigned[0].w, 0u);
}

TEST(Textures, EndWhereTheyAreToldTo) {
  auto memory = to_device(std::vector<int>(100, 9));
  const Texture<int> part(memory.data(), 60);
  EXPECT_EQ(fetched(part, 0, 100), generate(100, [](int i) { return i < 60 ? 9 : 0; }));
  EXPECT_EQ(fetched(part, INT_MAX, 1)[0], 0);
  EXPECT_EQ(fetched(part, INT_MIN, 1)[0], 0);
}

TEST(Textures, RefuseWhatTheDeviceCannotFetch) {
  EXPECT_EQ(Texture<int>(nullptr, 10).error, cudaErrorInvalidValue);
  DeviceBuffer<int> memory(1000);
  for (const int misaligned : {1, 4, 64})
    EXPECT_EQ(Texture<int>(memory.data() + misaligned, 10).error, cudaErrorInvalidValue);
  EXPECT_EQ(Texture<int>(memory.data() + 128, 10).error, cudaSuccess) << "512 bytes";
  cudaGetLastError();
}

TEST(Textures, HaveAsManyElementsAsTheDeviceSays) {
  int most = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxTexture1DLinearWidth, 0));
  ASSERT_GE(most, 1 << 27);  // compute capability 3.0 and later
  DeviceBuffer<unsigned char> memory(most);
  const unsigned char written[] = {11, 22, 33};
  CHECK_CUDA(cudaMemcpy(memory.data() + most - 3, written, 3, cudaMemcpyHostToDevice));
  const Texture<unsigned char> texture(memory);
  ASSERT_EQ(texture.error, cudaSuccess);
  DeviceBuffer<unsigned char> out(3);
  fetch<<<1, 32>>>(texture.handle, most - 3, 3, out.data());
  CHECK_CUDA(cudaGetLastError());
  unsigned char read[3];
  out.copy_to_host(read);
  EXPECT_TRUE(std::ranges::equal(read, written));
}

}  // namespace textures
}  // namespace psflip::PSFLIP_PLATFORM
