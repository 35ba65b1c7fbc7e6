#include "08_mpi/ranks/ranks.hpp"

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>  // MPIX_Query_cuda_support
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "app/abrupt_end.hpp"
#include "app/invalid_input.hpp"

namespace psflip {
namespace {

const Ranks* the_ranks = nullptr;
MPI_Comm world = MPI_COMM_NULL;  // ours: no other library's messages are mixed up with them

constexpr std::size_t most_bytes = std::size_t{1} << 30;  // MPI counts in int

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) {
    return;
  }
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + " failed: " + text);
}
#define CHECK_MPI(call) check(call, #call)

template <class T>
void add_to_root(std::span<T> numbers, MPI_Datatype type) {
  const std::size_t at_once = most_bytes / sizeof(T);
  const bool root = ranks().rank() == 0;
  for (std::size_t first = 0; first < numbers.size(); first += at_once) {
    const auto part = numbers.subspan(first, std::min(at_once, numbers.size() - first));
    CHECK_MPI(MPI_Reduce(root ? MPI_IN_PLACE : part.data(), root ? part.data() : nullptr, static_cast<int>(part.size()),
                         type, MPI_SUM, 0, world));
  }
}

/// A type for memory in pieces; freed with it.
class Type {
 public:
  Type(std::size_t width, std::size_t pitch, std::size_t rows) {
    CHECK_MPI(MPI_Type_create_hvector(number(rows), number(width), static_cast<MPI_Aint>(pitch), MPI_BYTE, &type_));
    CHECK_MPI(MPI_Type_commit(&type_));
  }
  ~Type() { MPI_Type_free(&type_); }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  MPI_Datatype operator()() const { return type_; }

 private:
  static int number(std::size_t value) {
    if (value > std::numeric_limits<int>::max()) {
      throw std::runtime_error("a message of " + std::to_string(value) +
                               " pieces or bytes a piece is too long for MPI");
    }
    return static_cast<int>(value);
  }
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace

const Ranks& ranks() {
  if (the_ranks == nullptr) {
    throw std::logic_error("ranks(): MPI has not been started");
  }
  return *the_ranks;
}

Ranks::Ranks(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  CHECK_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
  if (provided < MPI_THREAD_FUNNELED) {
    throw std::runtime_error("this MPI does not bear programs with threads (MPI_THREAD_FUNNELED)");
  }
  CHECK_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &world));
  CHECK_MPI(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN));
  CHECK_MPI(MPI_Comm_rank(world, &rank_));
  CHECK_MPI(MPI_Comm_size(world, &size_));
  MPI_Comm host = MPI_COMM_NULL;
  CHECK_MPI(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host));
  int on_host = 0;
  CHECK_MPI(MPI_Comm_rank(host, &local_rank_));
  CHECK_MPI(MPI_Comm_size(host, &on_host));
  CHECK_MPI(MPI_Comm_free(&host));
  int all_on_host = on_host == size_;
  CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &all_on_host, 1, MPI_INT, MPI_LAND, world));
  one_host_ = all_on_host != 0;
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  CHECK_MPI(MPI_Get_processor_name(name, &length));
  host_ = name;
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  cuda_aware_ = MPIX_Query_cuda_support() == 1;
#endif
  the_ranks = this;
}

Ranks::~Ranks() {
  the_ranks = nullptr;
  MPI_Comm_free(&world);
  MPI_Finalize();
}

const std::string& Ranks::library() {
  static const std::string name = [] {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    CHECK_MPI(MPI_Get_library_version(text, &length));
    const std::string all(text);
    return all.substr(0, all.find_first_of(",\n"));
  }();
  return name;
}

void Ranks::abort(const std::string& message) const noexcept {
  std::fprintf(stderr, "spin_glass: rank %d: %s\n", rank_, message.c_str());
  std::fflush(nullptr);
  remove_unfinished();
  MPI_Abort(world, 1);
  std::_Exit(1);
}

void Ranks::broadcast(void* data, std::size_t bytes) const {
  for (std::size_t first = 0; first < bytes; first += most_bytes) {
    CHECK_MPI(MPI_Bcast(static_cast<char*>(data) + first, static_cast<int>(std::min(most_bytes, bytes - first)),
                        MPI_BYTE, 0, world));
  }
}

void Ranks::broadcast(std::string& text) const {
  std::size_t length = text.size();
  broadcast(length);
  text.resize(length);
  broadcast(text.data(), length);
}

void Ranks::all_gather(const void* own, void* all, std::size_t bytes) const {
  const int count = static_cast<int>(bytes);
  CHECK_MPI(MPI_Allgather(own, count, MPI_BYTE, all, count, MPI_BYTE, world));
}

void Ranks::wait_for_all() const noexcept {
  if (MPI_Barrier(world) != MPI_SUCCESS) {
    abort("MPI_Barrier failed");
  }
}

double Ranks::most(double value) const {
  CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, world));
  return value;
}

void Ranks::add(std::span<std::int64_t> numbers) const { add_to_root(numbers, MPI_INT64_T); }
void Ranks::add(std::span<std::int8_t> numbers) const { add_to_root(numbers, MPI_INT8_T); }
void Ranks::add(std::span<std::uint32_t> numbers) const { add_to_root(numbers, MPI_UINT32_T); }

void Ranks::gather(const void* own, void* all, const std::vector<int>& pieces, std::size_t unit, int to) const {
  std::vector<int> places(size_);
  for (int r = 1; r < size_; ++r) {
    places[r] = places[r - 1] + pieces[r - 1];
  }
  const Type type(unit, unit, 1);
  CHECK_MPI(MPI_Gatherv(own, pieces[rank_], type(), all, pieces.data(), places.data(), type(), to, world));
}

void Ranks::agree(const std::exception_ptr& error) const {
  enum Kind { none, invalid_input, failure };
  int kind = none;
  std::string message;
  if (error) {
    try {
      std::rethrow_exception(error);
    } catch (const InvalidInput& invalid) {
      kind = invalid_input;
      message = invalid.what();
    } catch (const std::exception& failed) {
      kind = failure;
      message = failed.what();
    }
  }
  const std::vector<int> kinds = all(kind);
  const auto first = std::ranges::find_if(kinds, [](int of) { return of != none; });
  if (first == kinds.end()) {
    return;
  }
  const int speaker = static_cast<int>(first - kinds.begin());
  int length = static_cast<int>(message.size());
  CHECK_MPI(MPI_Bcast(&length, 1, MPI_INT, speaker, world));
  message.resize(length);
  CHECK_MPI(MPI_Bcast(message.data(), length, MPI_CHAR, speaker, world));
  if (*first == invalid_input) {
    throw InvalidInput(message);
  }
  throw std::runtime_error("rank " + std::to_string(speaker) + ": " + message);
}

void Ranks::exchange(const void* out, int to, void* in, int from, std::size_t bytes) const {
  const std::size_t parts = (bytes + most_bytes - 1) / most_bytes;
  std::vector<MPI_Request> requests(2 * parts);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = part * most_bytes;
    const int count = static_cast<int>(std::min(most_bytes, bytes - first));
    CHECK_MPI(MPI_Irecv(static_cast<char*>(in) + first, count, MPI_BYTE, from, 0, world, &requests[2 * part]));
    CHECK_MPI(MPI_Isend(static_cast<const char*>(out) + first, count, MPI_BYTE, to, 0, world, &requests[2 * part + 1]));
  }
  CHECK_MPI(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
}

void Ranks::exchange(const void* out, int to, void* in, int from, std::size_t width, std::size_t pitch,
                     std::size_t rows) const {
  const Type type(width, pitch, rows);
  MPI_Request requests[2];
  CHECK_MPI(MPI_Irecv(in, 1, type(), from, 0, world, &requests[0]));
  CHECK_MPI(MPI_Isend(out, 1, type(), to, 0, world, &requests[1]));
  CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

}  // namespace psflip
