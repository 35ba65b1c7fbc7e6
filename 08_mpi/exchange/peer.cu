// A copy from one device's memory straight into the other's, which CUDA maps into this process (CUDA IPC): no host
// takes part. A number beside the halo says how many planes have arrived; a kernel of one thread waits for it.

#include <cstdint>
#include <exception>

#include "08_mpi/exchange/exchange.hpp"
#include "gpu/device_buffer.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using Count = unsigned long long;

/// After a copy in the same stream: the neighbour may look at it.
__global__ void announce(volatile Count* arrived, Count number) {
  __threadfence_system();
  *arrived = number;
}

__global__ void wait_for(const volatile Count* arrived, Count number) {
  while (*arrived < number) __nanosleep(100);
  __threadfence_system();
}

/// Memory of another process, or of this one if it is its own neighbour.
class Mapped {
 public:
  Mapped() = default;
  ~Mapped() { close(); }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  void open(const cudaIpcMemHandle_t& handle) {
    CHECK_CUDA(cudaIpcOpenMemHandle(&data_, handle, cudaIpcMemLazyEnablePeerAccess));
    opened_ = true;
  }
  void open_own(void* data) { data_ = data; }
  void close() {
    if (opened_) cudaIpcCloseMemHandle(data_);
    opened_ = false;
  }
  char* data() const { return static_cast<char*>(data_); }

 private:
  void* data_ = nullptr;
  bool opened_ = false;
};

/// What a rank tells the others of the planes that it receives.
struct Offer {
  cudaIpcMemHandle_t spins[2];  ///< the array of a colour
  std::uint64_t halo[2];        ///< bytes from its beginning
  std::uint64_t pitch;
  cudaIpcMemHandle_t arrived;
};

class Peer : public Exchange {
 public:
  explicit Peer(const Planes& planes) : planes_(planes), arrived_(2) {
    CHECK_CUDA(cudaMemset(arrived_.data(), 0, arrived_.bytes()));
    CHECK_CUDA(cudaDeviceSynchronize());
    Offer own{};
    std::exception_ptr error;
    try {
      for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
        CHECK_CUDA(cudaIpcGetMemHandle(&own.spins[colour], planes.array[colour]));
        own.halo[colour] = static_cast<char*>(planes.halo[colour]) - static_cast<char*>(planes.array[colour]);
      }
      own.pitch = planes.pitch;
      CHECK_CUDA(cudaIpcGetMemHandle(&own.arrived, arrived_.data()));
    } catch (...) {
      error = std::current_exception();
    }
    ranks().agree(error);
    const auto offers = ranks().all(own);
    try {
      for (const Colour colour : {spin_glass::red, spin_glass::blue}) connect(colour, offers[receiver(colour)]);
    } catch (...) {
      error = std::current_exception();
    }
    ranks().agree(error);
  }

  /// Memory must not be freed while another process has it mapped.
  ~Peer() override {
    cudaDeviceSynchronize();
    for (const Colour colour : {spin_glass::red, spin_glass::blue}) {
      spins_[colour].close();
      counts_[colour].close();
    }
    ranks().wait_for_all();
  }

  void send(Colour colour, cudaStream_t stream) override {
    ++planes_sent_[colour];
    CHECK_CUDA(cudaMemcpy2DAsync(halo_[colour], pitch_[colour], planes_.boundary[colour], planes_.pitch, planes_.width,
                                 planes_.rows, cudaMemcpyDefault, stream));
    announce<<<1, 1, 0, stream>>>(there_[colour], planes_sent_[colour]);
    CHECK_CUDA(cudaGetLastError());
  }

  void receive(Colour colour, cudaStream_t stream) override {
    wait_for<<<1, 1, 0, stream>>>(arrived_.data() + colour, planes_sent_[colour]);  // all have sent as many
    CHECK_CUDA(cudaGetLastError());
  }

 private:
  void connect(Colour colour, const Offer& offer) {
    const bool own = receiver(colour) == ranks().rank();
    if (own) {
      spins_[colour].open_own(planes_.array[colour]);
      counts_[colour].open_own(arrived_.data());
    } else {
      spins_[colour].open(offer.spins[colour]);
      counts_[colour].open(offer.arrived);
    }
    halo_[colour] = spins_[colour].data() + offer.halo[colour];
    pitch_[colour] = offer.pitch;
    there_[colour] = reinterpret_cast<Count*>(counts_[colour].data()) + colour;
  }

  Planes planes_;
  DeviceBuffer<Count> arrived_;  ///< here: [colour]
  Mapped spins_[2], counts_[2];  ///< the receiver's
  char* halo_[2] = {};           ///< in its memory
  std::size_t pitch_[2] = {};    ///< likewise
  Count* there_[2] = {};         ///< likewise
  Count planes_sent_[2] = {};
};

}  // namespace

std::unique_ptr<Exchange> make_peer(const Planes& planes) { return std::make_unique<Peer>(planes); }

}  // namespace psflip::PSFLIP_PLATFORM
