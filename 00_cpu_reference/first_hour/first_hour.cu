// The first hour: the majority rule of stage 00 on a GPU, in one file, with nothing hidden. README.md explains it.
//
//   nvcc -o first_hour first_hour.cu
//   ./first_hour [size [steps [seed]]]

#include <cuda_runtime.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

// ---- On the device

// A kernel: every thread of the grid runs it once. A thread computes one spin, the one at its own x and y.
__global__ void update(const int* now, int* next, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;  // whole blocks cover the lattice, so some threads stand outside

  const int left = (x - 1 + n) % n, right = (x + 1) % n;  // the lattice is closed at its edges
  const int above = (y - 1 + n) % n, below = (y + 1) % n;
  const int sum = now[y * n + x] + now[y * n + left] + now[y * n + right] + now[above * n + x] + now[below * n + x];
  next[y * n + x] = sum > 0 ? 1 : -1;
}

// ---- On the host

// Every call of the CUDA runtime returns an error code. Nobody sees it who does not look.
void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "first_hour: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// What an argument says, a number from 0 or 1 on. Anything else ends the program with exit code 2.
std::int64_t number(const char* name, const char* text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = text + std::strlen(text);
  const std::from_chars_result result = std::from_chars(text, end, value);
  if (result.ec != std::errc() || result.ptr != end || value < least || value > most) {
    std::fprintf(stderr, "first_hour: %s is '%s'; allowed are whole numbers from %lld to %lld\n", name, text,
                 static_cast<long long>(least), static_cast<long long>(most));
    std::exit(2);
  }
  return value;
}

// The start of psFlip's 2D model: row by row, up (+1) where the highest bit of the next random number is set.
std::vector<int> random_spins(int n, std::uint32_t seed) {
  std::vector<int> spins(static_cast<std::size_t>(n) * n);
  std::mt19937 random(seed);
  for (int& spin : spins) spin = (random() >> 31) != 0 ? 1 : -1;
  return spins;
}

// The name of a state, the same in all of psFlip: FNV-1a over one byte a spin, 1 for up and 0 for down.
std::uint64_t hash_of(const std::vector<int>& spins) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const int spin : spins) hash = (hash ^ (spin > 0 ? 1u : 0u)) * 0x100000001b3;
  return hash;
}

int main(int argc, char** argv) {
  if (argc > 4) {
    std::fprintf(stderr, "first_hour: %d arguments; allowed are three: size, steps, seed\n", argc - 1);
    return 2;
  }
  // Up to 20000, the number of a spin, y * n + x, fits into an int.
  const int n = argc > 1 ? static_cast<int>(number("size", argv[1], 1, 20000)) : 64;
  const int steps = argc > 2 ? static_cast<int>(number("steps", argv[2], 0, 1000000)) : 10;
  const auto seed = argc > 3 ? static_cast<std::uint32_t>(number("seed", argv[3], 0, UINT32_MAX)) : 42;

  std::vector<int> spins = random_spins(n, seed);
  const std::size_t bytes = spins.size() * sizeof(int);

  // Allocate two arrays in the memory of the device. `now` and `next` are addresses there: the host can pass them on,
  // but must not read or write through them.
  int *now = nullptr, *next = nullptr;
  check(cudaMalloc(&now, bytes), "cudaMalloc of the first lattice");
  check(cudaMalloc(&next, bytes), "cudaMalloc of the second lattice");

  // Copy the start there: target first, then the source. The last argument says which way.
  check(cudaMemcpy(now, spins.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");

  // A block is a square of 16 x 16 threads. The grid has as many blocks as cover the lattice, rounded up.
  const int width = 16;
  const dim3 block(width, width);
  const dim3 grid((n + width - 1) / width, (n + width - 1) / width);

  // The first launch also brings the kernel to the device. That is not to be timed, so here is one whose result nobody
  // uses: the first step writes over it.
  update<<<grid, block>>>(now, next, n);
  check(cudaGetLastError(), "the first launch");

  // Events are marks in the queue of work: the device notes the time when it comes to them.
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "cudaEventCreate");
  check(cudaEventCreate(&stop), "cudaEventCreate");

  check(cudaEventRecord(start), "cudaEventRecord");
  for (int step = 0; step < steps; ++step) {
    update<<<grid, block>>>(now, next, n);  // returns at once: the work is queued, not done
    check(cudaGetLastError(), "launch");    // a launch returns nothing, so this asks whether it could be made
    std::swap(now, next);                   // two addresses change hands, and no spin moves
  }
  check(cudaEventRecord(stop), "cudaEventRecord");

  // Wait until all of it is done. Only now can it be known what went wrong while kernels ran.
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize, that is in a kernel before it");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");

  // Copy the result back.
  check(cudaMemcpy(spins.data(), now, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the device");

  // What was made is given back.
  check(cudaEventDestroy(start), "cudaEventDestroy");
  check(cudaEventDestroy(stop), "cudaEventDestroy");
  check(cudaFree(now), "cudaFree");
  check(cudaFree(next), "cudaFree");

  std::printf("problem     %d x %d spins, %d steps, seed %u\n", n, n, steps, seed);
  if (steps > 0) std::printf("time        %g ms per step\n", milliseconds / steps);
  std::printf("hash        %016llx\n", static_cast<unsigned long long>(hash_of(spins)));
}
