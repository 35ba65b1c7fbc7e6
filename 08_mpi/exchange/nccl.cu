// NCCL: sending and receiving are kernels in the stream, so the host never waits.

#include "08_mpi/exchange/exchange.hpp"

#if PSFLIP_HAS_NCCL
#include <nccl.h>

#include <stdexcept>
#include <string>

namespace psflip::PSFLIP_PLATFORM {
namespace {

void check_nccl(ncclResult_t result, const char* call) {
  if (result != ncclSuccess && result != ncclInProgress)
    throw std::runtime_error(std::string(call) + " failed: " + ncclGetErrorString(result));
}
#define CHECK_NCCL(call) check_nccl(call, #call)

/// What connects all ranks. Made once for a program: it takes long, and engines come and go. NCCL ends it
/// with the process. Collective.
ncclComm_t all_ranks() {
  static ncclComm_t all = nullptr;
  if (all == nullptr) {
    ncclUniqueId id{};
    if (ranks().rank() == 0) CHECK_NCCL(ncclGetUniqueId(&id));
    ranks().broadcast(id);
    CHECK_NCCL(ncclCommInitRank(&all, ranks().size(), id, ranks().rank()));
  }
  return all;
}

class Nccl : public Exchange {
 public:
  explicit Nccl(const Planes& planes) : planes_(planes), all_(all_ranks()) {}

  /// Sending and receiving are one call: a group, whose members wait for each other.
  void send(Colour colour, cudaStream_t stream) override {
    CHECK_NCCL(ncclGroupStart());
    for (std::size_t row = 0; row < planes_.rows; ++row) {
      const std::size_t at = row * planes_.pitch;
      CHECK_NCCL(ncclSend(static_cast<const char*>(planes_.boundary[colour]) + at, planes_.width, ncclUint8,
                          receiver(colour), all_, stream));
      CHECK_NCCL(ncclRecv(static_cast<char*>(planes_.halo[colour]) + at, planes_.width, ncclUint8, sender(colour), all_,
                          stream));
    }
    CHECK_NCCL(ncclGroupEnd());
  }

  void receive(Colour, cudaStream_t) override {}

 private:
  Planes planes_;
  ncclComm_t all_;
};

}  // namespace

std::unique_ptr<Exchange> make_nccl(const Planes& planes) { return std::make_unique<Nccl>(planes); }

}  // namespace psflip::PSFLIP_PLATFORM
#else

#include <stdexcept>

namespace psflip::PSFLIP_PLATFORM {

std::unique_ptr<Exchange> make_nccl(const Planes&) { throw std::logic_error("make_nccl: built without NCCL"); }

}  // namespace psflip::PSFLIP_PLATFORM
#endif
