// Every way to write a launch, and much that only looks like one: what the rewriter must see and what it must not.
#include <array>
#include <utility>

#include "semantics.hpp"

// nothing<<<1, 1>>>(); "an open string
/* nothing<<<1, 1>>>(); extern __shared__ int none[]; */

// clang-format off
namespace psflip::PSFLIP_PLATFORM {
namespace syntax {

TEST(Syntax, TextsStayAsTheyAre) {
  const std::string quoted = "a<<<1, 1>>>(); \" // extern __shared__ int a[];", raw = R"(a<<<1, 1>>>(" \)",
                    delimited = R"cu(a<<<1, 1>>>()" /*)cu", wide = reinterpret_cast<const char*>(u8R"("b"<<<)");
  EXPECT_EQ(quoted.substr(0, 16), std::string("a<<") + "<1, 1" + ">>>(); \"");
  EXPECT_EQ(raw, std::string("a<") + "<<1, 1>" + ">>(\" \\");
  EXPECT_EQ(delimited, std::string("a<") + "<<1, 1>" + ">>()\" /*");
  EXPECT_EQ(wide, std::string("\"b\"<") + "<<");
  const int million = 1'000'000, hexadecimal = 0xff'ff;
  const char quotes[] = {'"', '\'', '<', '\\'};
  const wchar_t wide_quote = L'"';
  EXPECT_EQ(million + hexadecimal + quotes[0] + static_cast<int>(wide_quote), 1000000 + 65535 + 2 * 34);
  int shifted = 1;
  shifted <<= 2;
  EXPECT_EQ(shifted << 3 >> 1, 16);
}

template <class T>
struct Box {
  T content;
};
template <class T, int factor = 1>
__global__ void store(int* out) {
  out[threadIdx.x] += static_cast<int>(sizeof(T)) * factor;
}
namespace inner::deeper {
__global__ void store_two(int* out, int first = 1, int second = 2) {
  out[threadIdx.x] += 10 * first + second;
}
}  // namespace inner::deeper
__global__ void overloaded(int* out, int value) { *out += value; }
__global__ void overloaded(int* out, float value) { *out += static_cast<int>(100 * value); }

TEST(Syntax, TemplateArguments) {
  EXPECT_EQ(result_of<int>(1, [](int* out) { store<int><<<1, 1>>>(out); })[0], 4);
  EXPECT_EQ(result_of<int>(1, [](int* out) { store<Box<Box<int>>><<<1, 1>>>(out); })[0], 4);
  EXPECT_EQ(result_of<int>(1, [](int* out) { store<std::array<Box<int>, 3>, (16 >> 2)><<<1, 1>>>(out); })[0], 48);
  EXPECT_EQ(result_of<int>(1, [](int* out) { store< Box< int > , 4 > <<< 1 , 1 >>> ( out ); })[0], 16);
  EXPECT_EQ(result_of<int>(1, [](int* out) { store<int, (3 > 2)><<<1, 1>>>(out); })[0], 4);
  EXPECT_EQ(result_of<int>(1, [](int* out) { store<decltype(1 < 2 ? 1.0 : 2.0)><<<1, 1>>>(out); })[0], 8);
}

TEST(Syntax, Names) {
  const auto once = [](int* out) { inner::deeper::store_two<<<1, 1>>>(out); };
  EXPECT_EQ(result_of<int>(1, once)[0], 12) << "default arguments";
  EXPECT_EQ(result_of<int>(1, [](int* out) { ::psflip::PSFLIP_PLATFORM::syntax::inner::deeper::store_two<<<1, 1>>>(out, 3, 4); })[0], 34);
  EXPECT_EQ(result_of<int>(1, [](int* out) { overloaded<<<1, 1>>>(out, 5); overloaded<<<1, 1>>>(out, 5.0f); })[0], 505);
}

TEST(Syntax, Pointers) {
  struct Table {
    void (*kernel)(int*);
  };
  const Table table = {store<char, 3>};
  const Table* const pointer = &table;
  void (*const kernels[])(int*) = {store<char, 4>, store<char, 5>};
  EXPECT_EQ(result_of<int>(1, [=](int* out) { table.kernel<<<1, 1>>>(out); })[0], 3);
  EXPECT_EQ(result_of<int>(1, [=](int* out) { pointer->kernel<<<1, 1>>>(out); })[0], 3);
  EXPECT_EQ(result_of<int>(1, [=](int* out) { (*pointer).kernel<<<1, 1>>>(out); })[0], 3);
  EXPECT_EQ(result_of<int>(1, [=](int* out) { (*kernels[0])<<<1, 1>>>(out); })[0], 4);
  EXPECT_EQ(result_of<int>(1, [=](int* out) { if (pointer) (*kernels[0])<<<1, 1>>>(out); })[0], 4);
  EXPECT_EQ(result_of<int>(1, [=](int* out) { if (pointer) kernels[1]<<<1, 1>>>(out); })[0], 5);
  EXPECT_EQ(result_of<int>(1, [=](int* out) { kernels[kernels[0] != nullptr]<<<1, 1>>>(out); })[0], 5);
}

template <int n>
int blocks_for(int threads) {
  return (n + threads - 1) / threads;
}

TEST(Syntax, Configurations) {
  const int shift = 1;
  EXPECT_EQ(result_of<int>(8, [=](int* out) { store<char><<<8 >> (shift + 2), 1 << 3>>>(out); }), std::vector<int>(8, 1));
  EXPECT_EQ(result_of<int>(8, [=](int* out) { store<char><<<blocks_for<8>(8), (shift < 2 ? 8 : 4)>>>(out); }), std::vector<int>(8, 1));
  EXPECT_EQ(result_of<int>(8, [=](int* out) { store<char><<<dim3{1, 1}, dim3(8), 0, cudaStream_t{}>>>(out); }), std::vector<int>(8, 1));
  EXPECT_EQ(result_of<int>(8, [=](int* out) { store<char><<<{1, 1}, {8}>>>(out); }), std::vector<int>(8, 1));
}

#define LAUNCH_STORE(type, out) store<type><<<1, 1>>>(out)

TEST(Syntax, Places) {
  const bool yes = true;
  EXPECT_EQ(result_of<int>(1, [=](int* out) { if (yes) store<char><<<1, 1>>>(out); else return; })[0], 1);
  EXPECT_EQ(result_of<int>(1, [=](int* out) { yes ? store<char><<<1, 1>>>(out) : store<int><<<1, 1>>>(out); })[0], 1);
  EXPECT_EQ(result_of<int>(1, [=](int* out) { LAUNCH_STORE(Box<short>, out); })[0], 2);
  EXPECT_EQ(result_of<int>(1, [=](int* out) { store<char><<<1, 1>>>(out);store<char><<<1, 1>>>(out); })[0], 2);
}

TEST(Syntax, LaunchesOverSeveralLines) {
  const int before = __LINE__;
  const auto out = result_of<int>(2, [](int* memory) {
    store<std::array<int,
                     2>>  // two of them
        <<<1,  /* one block, >>> */
           2   // two threads
        >>>(
            memory);
  });
  EXPECT_EQ(__LINE__ - before, 9);
  EXPECT_EQ(out, std::vector<int>(2, 8));
}

// ---- dynamic shared memory: each kernel leaves the size of its elements and the bytes between the first two

template <class T>
__device__ void measure(T* memory, int* out) {
  out[0] = sizeof(memory[0]);
  out[1] = static_cast<int>(reinterpret_cast<const volatile char*>(memory + 1) - reinterpret_cast<const volatile char*>(memory));
}
__global__ void plain(int* out) { extern __shared__ short shorts[]; measure(shorts, out); }
__global__ void two_words(int* out) { extern __shared__ unsigned long long longs[]; measure(longs, out); }
__global__ void aligned(int* out) { extern __shared__ __align__(16) float4 vectors[]; measure(vectors, out); }
__global__ void aligned_as_double(int* out) { extern __shared__ __align__(sizeof(double)) unsigned char characters[]; measure(characters, out); }
__global__ void nested(int* out) { extern __shared__ std::array<Box<int>, 3> boxes[]; measure(boxes, out); }
__global__ void never_the_same(int* out) { extern __shared__ volatile int changing[]; measure(changing, out); }
__global__ void spread(int* out) {
  extern   __shared__ /* of the block */
      unsigned
      numbers  [  ] ;
  measure(numbers, out);
  out[2] = __LINE__;
}
const int line_in_spread = __LINE__ - 2;
template <class T>
__global__ void any_type(int* out) {
  extern __shared__ unsigned char bytes[];
  T* const typed = reinterpret_cast<T*>(bytes);
  measure(typed, out);
}

TEST(Syntax, DynamicSharedMemory) {
  const auto measured = [](void (*kernel)(int*)) {
    return result_of<int>(3, [=](int* out) { kernel<<<1, 1, 64>>>(out); });
  };
  EXPECT_EQ(measured(plain), std::vector<int>({2, 2, 0}));
  EXPECT_EQ(measured(two_words), std::vector<int>({8, 8, 0}));
  EXPECT_EQ(measured(aligned), std::vector<int>({16, 16, 0}));
  EXPECT_EQ(measured(aligned_as_double), std::vector<int>({1, 1, 0}));
  EXPECT_EQ(measured(nested), std::vector<int>({12, 12, 0}));
  EXPECT_EQ(measured(never_the_same), std::vector<int>({4, 4, 0}));
  EXPECT_EQ(measured(spread), std::vector<int>({4, 4, line_in_spread}));
  EXPECT_EQ(measured(any_type<double>), std::vector<int>({8, 8, 0}));
  EXPECT_EQ(measured(any_type<char>), std::vector<int>({1, 1, 0}));
}

}  // namespace syntax
}  // namespace psflip::PSFLIP_PLATFORM
