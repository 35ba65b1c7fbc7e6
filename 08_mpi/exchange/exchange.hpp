/// How a plane of spins gets from one rank's device to the next one's. One file a way: staged.cu, mpi.cu, nccl.cu,
/// peer.cu.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "08_mpi/ranks/ranks.hpp"
#include "gpu/check.hpp"
#include "spin_glass/engine/simulation.hpp"
#include "spin_glass/model/geometry.hpp"

namespace psflip::PSFLIP_PLATFORM {

using spin_glass::Colour;

/// What is sent: after a colour's update its boundary plane, to where the neighbour has its halo of this colour. Red
/// goes to the rank before, blue to the next one. A plane, of all samples and replicas, is memory of the device in
/// `rows` pieces of `width` bytes, `pitch` bytes apart; width and rows are the same for all ranks.
struct Planes {
  void* array[2];           ///< [colour], the allocation in which both lie
  const void* boundary[2];  ///< [colour], of this rank
  void* halo[2];            ///< likewise
  std::size_t width, pitch, rows;

  std::size_t bytes() const { return width * rows; }
};

inline int receiver(Colour colour) { return colour == spin_glass::red ? ranks().previous() : ranks().next(); }
inline int sender(Colour colour) { return colour == spin_glass::red ? ranks().next() : ranks().previous(); }

/// One plane a half-sweep, in one direction. Nobody has to say that a halo may be overwritten: the neighbour sends its
/// next plane of a colour only after its boundary has been updated with ours of the other colour, which we sent after
/// reading that halo.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Sends the boundary plane that is there after what `stream` has been given.
  virtual void send(Colour colour, cudaStream_t stream) = 0;
  /// What `stream` is given from now on finds the neighbour's plane in the halo. May keep the host waiting. All ranks
  /// have called send() before.
  virtual void receive(Colour colour, cudaStream_t stream) = 0;
};

// All ranks make one together, each with its own planes, and all end it together. Throw the same on all of them.
using MakeExchange = std::unique_ptr<Exchange>(const Planes& planes);
MakeExchange make_staged;  ///< through the host's memory: works everywhere
MakeExchange make_mpi;     ///< MPI takes the device's memory
MakeExchange make_nccl;    ///< NVIDIA's library for groups of GPUs
MakeExchange make_peer;    ///< a copy into the neighbour's memory, which is mapped into this process

/// A transport, and why it was chosen.
struct ChosenTransport {
  spin_glass::Transport transport;
  std::string reason;
};
/// The wish, if it is possible; if there is none, the fastest that is. `device` is this rank's. Collective; throws the
/// same InvalidInput on all ranks.
ChosenTransport choose_transport(std::optional<spin_glass::Transport> wish, int device);
std::unique_ptr<Exchange> make_exchange(spin_glass::Transport transport, const Planes& planes);
/// "2 ranks, transport peer: ..."
std::string remark_of(spin_glass::Transport transport, const std::string& reason);

/// A stream of work on the device; it also waits for, and is waited for by, the default stream.
class Stream {
 public:
  /// Urgent work is done before other work, where both could be.
  explicit Stream(bool urgent) {
    int least = 0, greatest = 0;
    CHECK_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamDefault, urgent ? greatest : least));
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A moment in a stream that another stream, or the host, can wait for.
class Event {
 public:
  Event() { CHECK_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { CHECK_CUDA(cudaEventRecord(event_, stream)); }
  /// What `stream` is given from now on waits for the moment; at once true if it was never recorded.
  void hold(cudaStream_t stream) const { CHECK_CUDA(cudaStreamWaitEvent(stream, event_, 0)); }
  void wait() const { CHECK_CUDA(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace psflip::PSFLIP_PLATFORM
