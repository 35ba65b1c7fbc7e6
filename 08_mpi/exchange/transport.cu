// Which transport a run takes.

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "08_mpi/exchange/exchange.hpp"
#include "app/invalid_input.hpp"

namespace psflip::PSFLIP_PLATFORM {
namespace {

using spin_glass::Transport;

/// Where a rank's device is: two ranks that say the same share it.
struct Location {
  std::array<char, 192> host;
  std::array<char, 32> device;
  friend bool operator==(const Location&, const Location&) = default;
};

#ifdef __CUDACC__

std::vector<Location> locations(int device) {
  Location own{};
  std::strncpy(own.host.data(), ranks().host().c_str(), own.host.size() - 1);
  CHECK_CUDA(cudaDeviceGetPCIBusId(own.device.data(), static_cast<int>(own.device.size()), device));
  return ranks().all(own);
}

/// Which rank shares a device with an earlier one; -1 if none does.
int sharing(const std::vector<Location>& all) {
  for (std::size_t r = 0; r < all.size(); ++r)
    if (std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(r), all[r]) > 0) return static_cast<int>(r);
  return -1;
}

/// Whether this rank's device can write to a neighbour's.
bool can_reach(int device, const Location& neighbour) {
  int there = 0, can = 0;
  if (cudaDeviceGetByPCIBusId(&there, neighbour.device.data()) != cudaSuccess) {  // hidden from this process
    cudaGetLastError();
    return false;
  }
  if (there == device) return true;
  CHECK_CUDA(cudaDeviceCanAccessPeer(&can, device, there));
  return can != 0;
}

// What is against a transport here, in a few words; empty if nothing is.

std::string against_mpi() {
  return ranks().takes_device_memory() ? "" : Ranks::library() + " does not say that it is CUDA-aware";
}

std::string against_nccl(const std::vector<Location>& all) {
  if (!PSFLIP_HAS_NCCL) return "it was built without NCCL";
  if (sharing(all) >= 0) return "rank " + std::to_string(sharing(all)) + " shares its GPU with another";
  return "";
}

std::string against_peer(const std::vector<Location>& all, int device) {
  if (!ranks().one_host()) return "the ranks are on several hosts";
  const bool both = can_reach(device, all[ranks().previous()]) && can_reach(device, all[ranks().next()]);
  const std::vector<char> reached = ranks().all(static_cast<char>(both));
  const auto first = std::ranges::find(reached, 0);
  return first == reached.end()
             ? ""
             : "the GPU of rank " + std::to_string(first - reached.begin()) + " cannot write to its neighbours'";
}

#endif

}  // namespace

ChosenTransport choose_transport(std::optional<Transport> wish, int device) {
#ifdef __CUDACC__
  const std::vector<Location> all = locations(device);
  const std::string mpi = against_mpi(), nccl = against_nccl(all), peer = against_peer(all, device);
  const std::string slow =
      sharing(all) >= 0 ? "ranks share a GPU, and waiting kernels would take turns with others" : "";
#else
  const std::string mpi, nccl = "it takes GPUs", peer = ranks().one_host() ? "" : "the ranks are on several hosts";
  const std::string slow = "on host threads all transports are copies";
  static_cast<void>(device);
#endif
  const auto refuse = [](const char* transport, const std::string& why) {
    if (!why.empty()) throw InvalidInput(std::string("--transport is ") + transport + ": " + why);
  };
  if (wish) {
    refuse("mpi", *wish == Transport::mpi ? mpi : "");
    refuse("nccl", *wish == Transport::nccl ? nccl : "");
    refuse("peer", *wish == Transport::peer ? peer : "");
    return {*wish, "as asked for"};
  }
  if (peer.empty() && slow.empty())
    return {Transport::peer, "all GPUs are in one host and can write to their neighbours'"};
  if (nccl.empty()) return {Transport::nccl, peer};
  if (mpi.empty() && slow.empty()) return {Transport::mpi, peer + ", and this MPI is CUDA-aware"};
  return {Transport::staged, !slow.empty() ? slow : peer + "; " + nccl + "; " + mpi};
}

std::string remark_of(Transport transport, const std::string& reason) {
  return std::to_string(ranks().size()) + (ranks().size() == 1 ? " rank" : " ranks") + ", transport " +
         std::string(name(transport)) + ": " + reason;
}

std::unique_ptr<Exchange> make_exchange(Transport transport, const Planes& planes) {
  switch (transport) {
    case Transport::staged:
      return make_staged(planes);
    case Transport::mpi:
      return make_mpi(planes);
    case Transport::nccl:
      return make_nccl(planes);
    case Transport::peer:
      return make_peer(planes);
  }
  throw std::logic_error("make_exchange: a transport that was not listed");
}

}  // namespace psflip::PSFLIP_PLATFORM
