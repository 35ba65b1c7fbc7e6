// Bit counts, wide products, shifts over two words, reinterpreted floats, and loads and stores with a cache hint.
#include <cstring>

#include "semantics.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace integers {

using Word = unsigned long long;

struct Results {
  int popc, popcll, clz, clzll, ffs, ffsll;
  unsigned brev, umulhi, left, right, bytes;
  Word umul64hi;
};

__global__ void compute(const Word* a, const Word* b, Results* out, int count) {
  const int i = thread_in_grid();
  if (i >= count) return;
  const Word x = __ldg(&a[i]), y = __ldg(&b[i]);
  const unsigned low = static_cast<unsigned>(x), high = static_cast<unsigned>(y);
  out[i] = {__popc(low),
            __popcll(x),
            __clz(static_cast<int>(low)),
            __clzll(static_cast<long long>(x)),
            __ffs(static_cast<int>(low)),
            __ffsll(static_cast<long long>(x)),
            __brev(low),
            __umulhi(low, high),
            __funnelshift_l(low, high, static_cast<unsigned>(i)),
            __funnelshift_r(low, high, static_cast<unsigned>(i)),
            __byte_perm(low, high, high & 0x7777),
            __umul64hi(x, y)};
}

bool bit(Word x, int i) { return (x >> i & 1) != 0; }

int ones(Word x, int bits) {
  int count = 0;
  for (int i = 0; i < bits; ++i) count += bit(x, i);
  return count;
}
int leading_zeros(Word x, int bits) {
  int count = 0;
  while (count < bits && !bit(x, bits - 1 - count)) ++count;
  return count;
}
int first_set(Word x, int bits) {  // counted from 1; 0 if there is none
  for (int i = 0; i < bits; ++i)
    if (bit(x, i)) return i + 1;
  return 0;
}
unsigned mirrored(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= unsigned{bit(x, i)} << (31 - i);
  return result;
}
/// Bytes of `both`, which the lowest three bits of each digit of the selector number.
unsigned chosen_bytes(Word both, unsigned selector) {
  unsigned result = 0;
  for (int i = 3; i >= 0; --i) result = result * 256 + static_cast<unsigned>(both >> (selector >> 4 * i) % 8 * 8) % 256;
  return result;
}
/// The upper half of the product, from products of 32 bits.
Word upper_product(Word x, Word y) {
  const Word xl = x & 0xffffffff, xh = x >> 32, yl = y & 0xffffffff, yh = y >> 32;
  const Word middle = xh * yl + (xl * yl >> 32), other = xl * yh + (middle & 0xffffffff);
  return xh * yh + (middle >> 32) + (other >> 32);
}

TEST(Integers, AreCountedMultipliedAndShifted) {
  std::vector<Word> a = {0, 1, ~Word{0}, Word{1} << 63, Word{1} << 31, Word{1} << 32, 0x123456789abcdef0};
  while (a.size() < 200) a.push_back(a.back() * 6364136223846793005u + 1442695040888963407u);
  const std::vector<Word> b(a.rbegin(), a.rend());
  const auto x = to_device(a), y = to_device(b);
  const int count = static_cast<int>(a.size());
  const auto seen =
      result_of<Results>(a.size(), [&](Results* out) { compute<<<7, 32>>>(x.data(), y.data(), out, count); });
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE(i);
    const auto low = static_cast<unsigned>(a[i]), high = static_cast<unsigned>(b[i]);
    const Word both = Word{high} << 32 | low;
    EXPECT_EQ(seen[i].popc, ones(low, 32));
    EXPECT_EQ(seen[i].popcll, ones(a[i], 64));
    EXPECT_EQ(seen[i].clz, leading_zeros(low, 32));
    EXPECT_EQ(seen[i].clzll, leading_zeros(a[i], 64));
    EXPECT_EQ(seen[i].ffs, first_set(low, 32));
    EXPECT_EQ(seen[i].ffsll, first_set(a[i], 64));
    EXPECT_EQ(seen[i].brev, mirrored(low));
    EXPECT_EQ(seen[i].umulhi, static_cast<unsigned>(Word{low} * high >> 32));
    EXPECT_EQ(seen[i].left, static_cast<unsigned>(both << i % 32 >> 32));  // shifts count modulo 32
    EXPECT_EQ(seen[i].right, static_cast<unsigned>(both >> i % 32));
    EXPECT_EQ(seen[i].bytes, chosen_bytes(both, high));
    EXPECT_EQ(seen[i].umul64hi, upper_product(a[i], b[i]));
  }
}

__global__ void reinterpret(const float* in, unsigned* as_uint, int* as_int, float* back, float* back_from_int) {
  const int i = threadIdx.x;
  as_uint[i] = __float_as_uint(in[i]);
  as_int[i] = __float_as_int(in[i]);
  back[i] = __uint_as_float(as_uint[i]);
  back_from_int[i] = __int_as_float(as_int[i]);
}

TEST(Floats, KeepTheirBits) {
  const std::vector<float> values = {0.0f, -0.0f, 1.0f, -1.5f, 1e-40f, 3.4e38f};
  const auto in = to_device(values);
  DeviceBuffer<unsigned> as_uint(values.size());
  DeviceBuffer<int> as_int(values.size());
  DeviceBuffer<float> back(values.size()), back_from_int(values.size());
  reinterpret<<<1, static_cast<unsigned>(values.size())>>>(in.data(), as_uint.data(), as_int.data(), back.data(),
                                                           back_from_int.data());
  CHECK_CUDA(cudaGetLastError());
  const auto bits = generate(values.size(), [&](int i) {
    unsigned word;
    std::memcpy(&word, &values[i], sizeof word);
    return word;
  });
  EXPECT_EQ(to_host(as_uint), bits);
  EXPECT_EQ(to_host(as_int), std::vector<int>(bits.begin(), bits.end()));
  EXPECT_EQ(to_host(back), values);
  EXPECT_EQ(to_host(back_from_int), values);
  EXPECT_EQ(to_host(as_uint)[1], 0x80000000u);  // -0.0 == 0.0 says nothing about the sign
}

template <class T>
__global__ void copy_with_hints(const T* in, T* out, int count) {
  const int i = thread_in_grid();
  if (i < count) __stcs(&out[i], __ldcs(&in[i]));
  if (i < count) __stcg(&out[i + count], __ldcg(&in[i]));
  if (i < count) out[i + 2 * count] = __ldcv(&in[i]);
}

TEST(CacheHints, ChangeNoValue) {
  const auto values = generate(1000, [](int i) { return i * i - 7; });
  const auto in = to_device(values);
  const auto out = result_of<int>(3000, [&](int* o) { copy_with_hints<<<4, 256>>>(in.data(), o, 1000); });
  for (auto part = out.begin(); part != out.end(); part += 1000) EXPECT_EQ(std::vector<int>(part, part + 1000), values);
}

/// Halves change places, so that no word may come from the wrong component.
__global__ void copy_vectors(const uint4* in, uint4* out, const ulonglong2* wide_in, ulonglong2* wide_out, int count) {
  const int i = thread_in_grid();
  if (i >= count) return;
  const uint4 v = __ldg(&in[i]);
  __stcs(&out[i], make_uint4(v.z, v.w, v.x, v.y));
  const ulonglong2 w = __ldcs(&wide_in[i]);
  __stcg(&wide_out[i], make_ulonglong2(w.y, w.x));
}

TEST(CacheHints, ServeVectors) {
  const int count = 100;
  const auto words = generate(4 * count, [](int i) { return 0x9e3779b9u * unsigned(i); });
  const auto in = to_device(words);
  const auto vectors = [](auto* address) { return reinterpret_cast<const uint4*>(address); };
  const auto pairs = [](auto* address) { return reinterpret_cast<const ulonglong2*>(address); };
  DeviceBuffer<unsigned> wide(4 * count);
  const auto out = result_of<unsigned>(4 * count, [&](unsigned* o) {
    copy_vectors<<<2, 64>>>(vectors(in.data()), reinterpret_cast<uint4*>(o), pairs(in.data()),
                            reinterpret_cast<ulonglong2*>(wide.data()), count);
  });
  const auto swapped = generate(4 * count, [&](int i) { return words[i ^ 2]; });
  EXPECT_EQ(out, swapped);
  EXPECT_EQ(to_host(wide), swapped);
}

}  // namespace integers
}  // namespace psflip::PSFLIP_PLATFORM
