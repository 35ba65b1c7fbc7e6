/// What the engines with a number for every spin have in common: two lattices on the device, the loop over the steps,
/// transfers. One that has bits takes only the checks of the launch from here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "app/invalid_input.hpp"
#include "gpu/constants.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/timer.hpp"
#include "majority/simulation.hpp"

namespace psflip::PSFLIP_PLATFORM {

/// Converts `count` spins from one storage to another.
template <class From, class To>
__global__ void convert(const From* from, To* to, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = static_cast<To>(from[i]);
}

template <class Spin>
class DeviceSimulation : public majority::Simulation {
 public:
  DeviceSimulation(std::int64_t size, const majority::Launch& launch) : n_(static_cast<int>(size)), launch_(launch) {
    CHECK_CUDA(cudaSetDevice(launch.device));
    const auto side = static_cast<std::size_t>(size);
    now_ = DeviceBuffer<Spin>(side * side);
    next_ = DeviceBuffer<Spin>(side * side);
  }

  double advance(std::int64_t steps) override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    timer_.start();
    for (std::int64_t step = 0; step < steps; ++step) {
      launch_step(now_.data(), next_.data(), n_, *launch_.thread_width, *launch_.block);
      CHECK_CUDA(cudaGetLastError());
      now_.swap(next_);  // the new state is the old one of the next step: pointers change hands, no spin moves
    }
    return timer_.stop();
  }

  // Spins cross the bus as bytes, through the lattice that is not in use.
  void set_spins(const majority::Lattice& lattice) override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    auto* bytes = reinterpret_cast<majority::Spin*>(next_.data());
    CHECK_CUDA(cudaMemcpy(bytes, lattice.spins.data(), now_.size(), cudaMemcpyHostToDevice));
    convert<<<conversion_blocks(), 256>>>(bytes, now_.data(), now_.size());
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  majority::Lattice spins() const override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    auto* bytes = reinterpret_cast<majority::Spin*>(next_.data());
    convert<<<conversion_blocks(), 256>>>(now_.data(), bytes, now_.size());
    CHECK_CUDA(cudaGetLastError());
    majority::Lattice lattice{n_, std::vector<majority::Spin>(now_.size())};
    CHECK_CUDA(cudaMemcpy(lattice.spins.data(), bytes, now_.size(), cudaMemcpyDeviceToHost));
    return lattice;
  }

  majority::Launch launch() const override { return launch_; }

 protected:
  /// Starts the kernel that computes one step. Both lattices are n x n, row-major; a thread block has width x width
  /// threads, each of them computes block_side x block_side spins.
  virtual void launch_step(const Spin* now, Spin* next, int n, int width, int block_side) = 0;

 private:
  unsigned conversion_blocks() const {
    return static_cast<unsigned>(std::min<std::size_t>(1024, now_.size() / 256 + 1));
  }

  int n_;
  majority::Launch launch_;
  DeviceBuffer<Spin> now_;
  mutable DeviceBuffer<Spin> next_;
  Timer timer_;
};

/// How many blocks of `size` elements cover n.
constexpr unsigned blocks_for(int n, int size) { return static_cast<unsigned>((n - 1) / size + 1); }

/// The wish, or the first of those offered. Throws InvalidInput if the wish is not among them.
inline majority::Storage choose_storage(const std::optional<majority::Storage>& wish,
                                        std::initializer_list<majority::Storage> offered) {
  if (!wish) return *offered.begin();
  std::string names;
  for (const majority::Storage storage : offered) {
    if (storage == *wish) return storage;
    names += (names.empty() ? "" : ", ") + std::string(name(storage));
  }
  throw InvalidInput("--storage is " + std::string(name(*wish)) + ": this stage has " + names);
}

/// Throws InvalidInput if two lattices of size x size spins do not fit into the device's free memory. bytes_of(n) is
/// what one of n x n takes.
template <class BytesOf>
void refuse_large_lattice(std::int64_t size, int device, BytesOf bytes_of) {
  std::size_t free = 0, total = 0;
  CHECK_CUDA(cudaSetDevice(device));
  CHECK_CUDA(cudaMemGetInfo(&free, &total));
  int largest = 0;
  for (int step = 1 << 29; step > 0; step /= 2)
    if (2.0 * bytes_of(largest + step) <= static_cast<double>(free)) largest += step;
  if (size < 1 || size > largest)
    throw InvalidInput("--size is " + std::to_string(size) +
                       ": two lattices fit into the free memory of the device for 1 to " + std::to_string(largest));
}

/// The launch with its empty fields filled in. Throws InvalidInput if the shape is not offered, with `largest_block`
/// the most spins a side that a thread of this stage computes, or if the lattices do not fit into the device's memory.
inline majority::Launch complete(majority::Launch launch, std::int64_t size, int default_width, int default_block,
                                 int largest_block) {
  constexpr int largest_width = 32;  // 32 x 32 = 1024 threads, the most that a block can have
  launch.storage = choose_storage(launch.storage, {majority::Storage::int32, majority::Storage::int8});
  launch.thread_width = launch.thread_width.value_or(default_width);
  launch.block = launch.block.value_or(default_block);
  if (*launch.thread_width < 1 || *launch.thread_width > largest_width)
    throw InvalidInput("--thread-width is " + std::to_string(*launch.thread_width) + ": allowed are 1 to " +
                       std::to_string(largest_width));
  if (*launch.block < 1 || *launch.block > largest_block)
    throw InvalidInput("--block is " + std::to_string(*launch.block) + ": " +
                       (largest_block == 1 ? "a thread of this stage computes one spin, allowed is 1"
                                           : "allowed are 1 to " + std::to_string(largest_block)));
  if (launch.steps_per_pass)
    throw InvalidInput("--steps-per-pass is " + std::to_string(*launch.steps_per_pass) +
                       ": this stage reads and writes the lattice in every step; leave it out");
  refuse_large_lattice(size, launch.device,
                       [&](double n) { return n * n * majority::bytes_per_spin(*launch.storage); });
  return launch;
}

/// Throws InvalidInput if the tile of a block, of spins_in_tile(width, block) spins, is more than a block of the device
/// can have of shared memory.
template <class SpinsInTile>
void refuse_large_tile(const majority::Launch& launch, SpinsInTile spins_in_tile) {
  int limit = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, launch.device));
  const int spin_bytes = static_cast<int>(majority::bytes_per_spin(*launch.storage));
  const auto bytes = [&](int block) { return spins_in_tile(*launch.thread_width, block) * spin_bytes; };
  if (bytes(*launch.block) <= limit) return;
  int largest = *launch.block;
  while (largest > 0 && bytes(largest) > limit) --largest;
  throw InvalidInput("--block is " + std::to_string(*launch.block) + ": the tile takes " +
                     std::to_string(bytes(*launch.block)) + " bytes of shared memory and the device has " +
                     std::to_string(limit) + " a block; with --thread-width " + std::to_string(*launch.thread_width) +
                     " allowed are 1 to " + std::to_string(largest));
}

/// Makes Engine<int> or Engine<std::int8_t>, as the launch says.
template <template <class Spin> class Engine>
std::unique_ptr<majority::Simulation> make_engine(std::int64_t size, const majority::Launch& launch) {
  if (launch.storage == majority::Storage::int8) return std::make_unique<Engine<std::int8_t>>(size, launch);
  return std::make_unique<Engine<int>>(size, launch);
}

}  // namespace psflip::PSFLIP_PLATFORM
