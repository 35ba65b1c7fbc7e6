/// The ranks of a run, and all that they say to each other but the planes that stay on devices. Only ranks.cpp knows
/// MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace psflip {

/// All functions but the first are collective: every rank calls them, in the same order. They throw std::runtime_error,
/// naming the call, if MPI fails. Only the thread that made the object may use it (MPI_THREAD_FUNNELED).
class Ranks {
 public:
  /// Starts MPI, in a communicator of our own. Throws std::runtime_error if it cannot.
  Ranks(int* argc, char*** argv);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int previous() const { return (rank_ + size_ - 1) % size_; }
  int next() const { return (rank_ + 1) % size_; }
  int local_rank() const { return local_rank_; }            ///< number among the ranks of this host
  bool one_host() const { return one_host_; }               ///< whether all share one
  bool takes_device_memory() const { return cuda_aware_; }  ///< whether this MPI says that it is CUDA-aware
  const std::string& host() const { return host_; }         ///< its name
  static const std::string& library();                      ///< "Open MPI v4.1.4"

  /// Ends all ranks at once, after one line on standard error.
  [[noreturn]] void abort(const std::string& message) const noexcept;

  /// Rank 0's bytes, to all.
  void broadcast(void* data, std::size_t bytes) const;
  template <class T>
  void broadcast(T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast(&value, sizeof value);
  }
  void broadcast(std::string& text) const;
  /// Every rank's value, in the order of the ranks.
  template <class T>
  std::vector<T> all(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> values(size_);
    all_gather(&value, values.data(), sizeof value);
    return values;
  }
  /// Comes back when all have called it. Ends the run if MPI fails: for destructors.
  void wait_for_all() const noexcept;
  /// The greatest.
  double most(double value) const;
  /// The sums over all ranks, number by number, on rank 0; on the others `numbers` is left as it was.
  void add(std::span<std::int64_t> numbers) const;
  void add(std::span<std::int8_t> numbers) const;
  void add(std::span<std::uint32_t> numbers) const;
  /// One piece after the other from every rank, in their order, on rank `to`: of pieces[r] units of so many bytes from
  /// rank r.
  void gather(const void* own, void* all, const std::vector<int>& pieces, std::size_t unit, int to) const;

  /// Throws the same on all ranks if one of them has an error: that of the first that has.
  void agree(const std::exception_ptr& error) const;

  /// Sends `bytes` to a rank while as many come from another. Not collective: the two others do their part.
  void exchange(const void* out, int to, void* in, int from, std::size_t bytes) const;
  /// The same for memory in `rows` pieces of `width` bytes, `pitch` bytes apart.
  void exchange(const void* out, int to, void* in, int from, std::size_t width, std::size_t pitch,
                std::size_t rows) const;

 private:
  void all_gather(const void* own, void* all, std::size_t bytes) const;

  int rank_ = 0, size_ = 1, local_rank_ = 0;
  bool one_host_ = true, cuda_aware_ = false;
  std::string host_;
};

/// The object, as long as it exists.
const Ranks& ranks();

}  // namespace psflip
