/// dim3 and CUDA's short vectors, with CUDA's sizes and alignments.
#pragma once

#include <algorithm>
#include <cstddef>

namespace cuda_on_cpu {

template <class T>
struct Vector1 {
  T x;
};
template <class T>
struct alignas(2 * sizeof(T)) Vector2 {
  T x, y;
};
template <class T>
struct Vector3 {
  T x, y, z;
};
template <class T>
struct alignas(std::min<std::size_t>(4 * sizeof(T), 16)) Vector4 {
  T x, y, z, w;
};

#define CUDA_ON_CPU_VECTORS(name, T)                                    \
  using name##1 = Vector1<T>;                                           \
  using name##2 = Vector2<T>;                                           \
  using name##3 = Vector3<T>;                                           \
  using name##4 = Vector4<T>;                                           \
  constexpr name##1 make_##name##1(T x) { return {x}; }                 \
  constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
CUDA_ON_CPU_VECTORS(char, signed char)
CUDA_ON_CPU_VECTORS(uchar, unsigned char)
CUDA_ON_CPU_VECTORS(short, short)
CUDA_ON_CPU_VECTORS(ushort, unsigned short)
CUDA_ON_CPU_VECTORS(int, int)
CUDA_ON_CPU_VECTORS(uint, unsigned)
CUDA_ON_CPU_VECTORS(longlong, long long)
CUDA_ON_CPU_VECTORS(ulonglong, unsigned long long)
CUDA_ON_CPU_VECTORS(float, float)
CUDA_ON_CPU_VECTORS(double, double)
#undef CUDA_ON_CPU_VECTORS

/// The extent of a grid or block; what is not given is 1.
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

}  // namespace cuda_on_cpu
