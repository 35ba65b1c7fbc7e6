/// What surrounds the stencil's kernel: words and couplings on the device in the order of a layout, their start, and
/// the way back to the order of s. DeviceSimulation is the same for the spin glass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "05_sliced/loads.hpp"
#include "05_sliced/mapping.hpp"
#include "05_sliced/stencil/stencil.hpp"
#include "app/invalid_input.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/free_memory.hpp"
#include "gpu/timer.hpp"
#include "spin_glass/engine/device_simulation.cuh"
#include "spin_glass/engine/launches.hpp"

namespace psflip::PSFLIP_PLATFORM {

using stencil::Word;

/// Words of a colour at their start.
template <class Layout>
__global__ void fill_words(Word* words, Layout layout, Colour colour, int size, int half) {
  for_each_element(half, [&](std::int64_t i) {
    words[i] = stencil::start(number(layout.site(colour, layout.place(static_cast<int>(i))), size));
  });
}

/// The words of the bonds that leave the red sites in one direction.
template <class Layout>
__global__ void fill_couplings(Word* couplings, Layout layout, Direction direction, int size, int half) {
  for_each_element(half, [&](std::int64_t i) {
    couplings[i] =
        stencil::coupling(bond(layout.site(spin_glass::red, layout.place(static_cast<int>(i))), direction, size));
  });
}

/// Adds a colour's share of the checksum to *sum.
template <class Layout>
__global__ void add_up(const Word* words, Layout layout, Colour colour, int size, int half, unsigned long long* sum) {
  unsigned long long own = 0;
  for_each_element(half, [&](std::int64_t i) {
    own += stencil::checksum_term(number(layout.site(colour, layout.place(static_cast<int>(i))), size), words[i]);
  });
  atomicAdd(sum, own);
}

template <class Layout>
class StencilOnDevice : public stencil::Engine {
 public:
  StencilOnDevice(int size, const stencil::Launch& launch, const Layout& layout)
      : size_(size), half_(count(layout)), launch_(launch), layout_(layout) {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) words_[colour] = DeviceBuffer<Word>(half_);
    for (int d = 0; d < spin_glass::directions; ++d) {
      couplings_[d] = DeviceBuffer<Word>(half_);
      fill_couplings<<<blocks(), block_threads>>>(couplings_[d].data(), layout_, Direction(d), size_, half_);
      CHECK_CUDA(cudaGetLastError());
    }
    restart();
  }

  void restart() override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      fill_words<<<blocks(), block_threads>>>(words_[colour].data(), layout_, colour, size_, half_);
      CHECK_CUDA(cudaGetLastError());
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    next_ = spin_glass::red;
  }

  double advance(std::int64_t half_sweeps) override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    timer_.start();
    for (std::int64_t i = 0; i < half_sweeps; ++i) {
      launch_half_sweep(next_);
      CHECK_CUDA(cudaGetLastError());
      next_ = other(next_);
    }
    return timer_.stop();
  }

  std::vector<Word> words() const override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    const auto half = static_cast<std::size_t>(half_);
    std::vector<Word> canonical(2 * half);
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      const std::vector<Word> stored = words_[colour].to_host();
      for (int i = 0; i < half_; ++i) canonical[number(layout_.site(colour, layout_.place(i)), size_)] = stored[i];
    }
    return canonical;
  }

  std::uint64_t checksum() const override {
    CHECK_CUDA(cudaSetDevice(launch_.device));
    DeviceBuffer<unsigned long long> sum(std::vector<unsigned long long>(1));
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      add_up<<<blocks(), block_threads>>>(words_[colour].data(), layout_, colour, size_, half_, sum.data());
      CHECK_CUDA(cudaGetLastError());
    }
    return sum.to_host().front();
  }

  stencil::Launch launch() const override { return launch_; }

 protected:
  /// Starts the kernel that updates all sites of one colour.
  virtual void launch_half_sweep(Colour colour) = 0;

  int size_, half_;  ///< L, and the sites of one colour
  stencil::Launch launch_;
  Layout layout_;
  DeviceBuffer<Word> words_[2];                           ///< [colour][element]
  DeviceBuffer<Word> couplings_[spin_glass::directions];  ///< [direction][element of the red end]

 private:
  static constexpr int block_threads = 256;  // of the kernels above, which loop
  unsigned blocks() const { return std::min(blocks_for(half_, block_threads), 2048U); }

  Colour next_ = spin_glass::red;
  Timer timer_;
};

/// Throws InvalidInput if the device cannot have such a lattice: eight arrays, of half its sites each.
inline void refuse_large_stencil(std::int64_t size, const stencil::Launch& launch) {
  const std::int64_t half = size * size * size / 2;
  if (launch.load == Load::texture) refuse_large_texture(half, launch.device);
  if (launch.indexing == spin_glass::Indexing::sliced_grid && size > 1024)
    throw InvalidInput("--size is " + std::to_string(size) +
                       ": with --indexing sliced-grid a block takes a row of sites and has at most 1024 threads");
  CHECK_CUDA(cudaSetDevice(launch.device));
  refuse_more_than_there_is(static_cast<double>((2 + spin_glass::directions) * half) * sizeof(Word),
                            "--size " + std::to_string(size));
}

}  // namespace psflip::PSFLIP_PLATFORM
