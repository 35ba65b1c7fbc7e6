// From the device to the host, by MPI to the neighbour's host, and up to its device: what every cluster can do. It is
// the transport of the paper (arXiv:1411.0127, section 5).

#include <cstddef>
#include <cstdint>

#include "08_mpi/exchange/exchange.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

/// Memory of the host that the device can copy to and from while both go on.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes) { CHECK_CUDA(cudaMallocHost(&data_, bytes)); }
  ~PinnedMemory() { cudaFreeHost(data_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

class Staged : public Exchange {
 public:
  explicit Staged(const Planes& planes) : planes_(planes), out_(planes.bytes()), in_(planes.bytes()) {}

  void send(Colour colour, cudaStream_t stream) override {
    CHECK_CUDA(cudaMemcpy2DAsync(out_.data(), planes_.width, planes_.boundary[colour], planes_.pitch, planes_.width,
                                 planes_.rows, cudaMemcpyDeviceToHost, stream));
    copied_.record(stream);
  }

  /// The host waits for the first copy, and so for the one into the halo before it: both buffers are free again.
  void receive(Colour colour, cudaStream_t stream) override {
    copied_.wait();
    ranks().exchange(out_.data(), receiver(colour), in_.data(), sender(colour), planes_.bytes());
    CHECK_CUDA(cudaMemcpy2DAsync(planes_.halo[colour], planes_.pitch, in_.data(), planes_.width, planes_.width,
                                 planes_.rows, cudaMemcpyHostToDevice, stream));
  }

 private:
  Planes planes_;
  PinnedMemory out_, in_;
  Event copied_;
};

}  // namespace

std::unique_ptr<Exchange> make_staged(const Planes& planes) { return std::make_unique<Staged>(planes); }

}  // namespace psflip::PSFLIP_PLATFORM
