// MPI takes the device's memory as if it were the host's: a CUDA-aware library finds the way by itself.

#include "08_mpi/exchange/exchange.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

class Mpi : public Exchange {
 public:
  explicit Mpi(const Planes& planes) : planes_(planes) {}

  void send(Colour, cudaStream_t stream) override { updated_.record(stream); }

  /// MPI knows no streams: the host waits for the plane, and for the message.
  void receive(Colour colour, cudaStream_t) override {
    updated_.wait();
    ranks().exchange(planes_.boundary[colour], receiver(colour), planes_.halo[colour], sender(colour), planes_.width,
                     planes_.pitch, planes_.rows);
  }

 private:
  Planes planes_;
  Event updated_;
};

}  // namespace

std::unique_ptr<Exchange> make_mpi(const Planes& planes) { return std::make_unique<Mpi>(planes); }

}  // namespace psflip::PSFLIP_PLATFORM
