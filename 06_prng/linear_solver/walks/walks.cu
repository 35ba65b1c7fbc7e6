// Random walks that solve x = H x + b.
//
// A step of a walk is a random number, a binary search for it in the CDF of the row where the walk is, and a product of
// weights. What is read where depends on what was read before, so a thread waits for memory nearly all the time, and
// only many threads hide it. How the matrix lies there and is read: loads.hpp. Who draws what: streams.hpp.

#include "06_prng/linear_solver/walks/walks.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "06_prng/linear_solver/walks/loads.hpp"
#include "06_prng/linear_solver/walks/request.hpp"
#include "06_prng/linear_solver/walks/seeding.hpp"
#include "06_prng/linear_solver/walks/streams.hpp"
#include "app/stopwatch.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/free_memory.hpp"
#include "gpu/timer.hpp"

namespace psflip::PSFLIP_PLATFORM {  // psflip::gpu and psflip::cpu: this file is compiled for both
namespace {

using linear::Estimator;
using linear::Map;
using linear::Method;
using linear::Request;

constexpr int step_counters = 1024;  // one for all would make the threads wait for each other

/// What a launch has to do.
template <class Streams>
struct Task {
  Streams streams;
  std::int64_t first_stream;  ///< number of the first
  std::int64_t histories;     ///< adjoint: of all; forward: of each entry
  std::int32_t rows;
  std::int32_t max_steps;
  double cutoff;
  int discard;
  const double* b;
  const double* start_cdf;    ///< adjoint: of |b| / ||b||_1
  double start_weight;        ///< adjoint: |b_s / p_s| = ||b||_1
  double* x;                  ///< sums over the histories
  unsigned long long* steps;  ///< step_counters of them

  /// Stream `id` of the launch.
  __device__ auto open(std::int64_t id) const {
    auto stream = streams.open(first_stream + id, id);
    stream.skip(discard);
    return stream;
  }

  __device__ void count(unsigned long long more) const { atomicAdd(&steps[blockIdx.x % step_counters], more); }
};

__device__ std::int64_t thread_number() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::int64_t thread_count() { return std::int64_t{gridDim.x} * blockDim.x; }

/// The first i of begin .. end - 1 with p(i) >= u; the last if there is none.
template <class P>
__device__ std::int32_t search(std::int32_t begin, std::int32_t end, double u, P p) {
  for (--end; begin < end;) {
    const std::int32_t middle = begin + (end - begin) / 2;
    if (p(middle) < u)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// Walks from `state`, and calls visit(state, weight) wherever it comes, there included. The weight is 1 at first.
/// Returns the number of steps.
template <class Matrix, class Streams, class Visit>
__device__ std::int32_t wander(const Matrix& matrix, const Task<Streams>& task, typename Streams::Stream& stream,
                               std::int32_t state, Visit visit) {
  double weight = 1;
  visit(state, weight);
  std::int32_t steps = 0;
  while (steps < task.max_steps && fabs(weight) >= task.cutoff) {
    const std::int32_t begin = matrix.begin(state), end = matrix.begin(state + 1);
    if (begin == end) break;  // the row is empty: nothing more comes of this walk
    const std::int32_t i = search(begin, end, stream.next(), [&](std::int32_t k) { return matrix.p(k); });
    weight *= matrix.w(i);
    state = matrix.column(i);
    visit(state, weight);
    ++steps;
  }
  return steps;
}

/// Adjoint: a thread a history. Any thread may come to any row, so sums are atomic.
template <Estimator estimator, class Matrix, class Streams, class... Pointers>
__global__ void __launch_bounds__(1024) adjoint(Task<Streams> task, Pointers... pointers) {
  const Matrix matrix{pointers...};
  unsigned long long steps = 0;
  for (std::int64_t id = thread_number(); id < task.histories; id += thread_count()) {
    auto stream = task.open(id);
    const std::int32_t start = search(0, task.rows, stream.next(), [&](std::int32_t k) {
      return load<Matrix::how, Load::ldg_p>(task.start_cdf + k);
    });
    const double first = copysign(task.start_weight, task.b[start]);
    steps += wander(matrix, task, stream, start, [&](std::int32_t state, double weight) {
      if constexpr (estimator == Estimator::collision) {
        atomicAdd(&task.x[state], first * weight);
      } else {
        const std::int32_t end = matrix.begin(state + 1);
        for (std::int32_t i = matrix.begin(state); i < end; ++i)
          atomicAdd(&task.x[matrix.column(i)], first * weight * matrix.h(i));
      }
    });
  }
  task.count(steps);
}

/// Forward: a thread per entry, which nobody else adds to.
template <class Matrix, class Streams, class... Pointers>
__global__ void __launch_bounds__(1024) forward_by_entry(Task<Streams> task, Pointers... pointers) {
  const Matrix matrix{pointers...};
  unsigned long long steps = 0;
  for (std::int64_t entry = thread_number(); entry < task.rows; entry += thread_count()) {
    double sum = 0;
    for (std::int64_t history = 0; history < task.histories; ++history) {
      auto stream = task.open(history * task.rows + entry);
      steps += wander(matrix, task, stream, static_cast<std::int32_t>(entry),
                      [&](std::int32_t state, double weight) { sum += weight * task.b[state]; });
    }
    task.x[entry] += sum;
  }
  task.count(steps);
}

/// Forward: a thread a history, the histories of an entry side by side. Each step adds to x in memory.
template <class Matrix, class Streams, class... Pointers>
__global__ void __launch_bounds__(1024) forward_by_history(Task<Streams> task, Pointers... pointers) {
  const Matrix matrix{pointers...};
  unsigned long long steps = 0;
  for (std::int64_t walk = thread_number(); walk < task.histories * task.rows; walk += thread_count()) {
    const std::int64_t entry = walk / task.histories, history = walk % task.histories;
    auto stream = task.open(history * task.rows + entry);
    steps += wander(matrix, task, stream, static_cast<std::int32_t>(entry),
                    [&](std::int32_t state, double weight) { atomicAdd(&task.x[entry], weight * task.b[state]); });
  }
  task.count(steps);
}

/// The sum over the threads of a block, for thread 0. All have to come.
__device__ double block_sum(double value) {
  __shared__ double of_warp[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffff, value, distance);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  value = 0;
  if (threadIdx.x == 0)
    for (unsigned i = 0; i < blockDim.x / 32; ++i) value += of_warp[i];
  __syncthreads();  // of_warp may be written again
  return value;
}

/// Forward: a thread a history, a block histories of one entry (`parts` blocks share it). Sums stay in registers until
/// the end.
template <class Matrix, class Streams, class... Pointers>
__global__ void __launch_bounds__(1024) forward_by_block(Task<Streams> task, std::int64_t parts, Pointers... pointers) {
  const Matrix matrix{pointers...};
  unsigned long long steps = 0;
  for (std::int64_t block = blockIdx.x; block < parts * task.rows; block += gridDim.x) {
    const std::int64_t entry = block / parts, part = block % parts;
    double sum = 0;
    for (std::int64_t history = part * blockDim.x + threadIdx.x; history < task.histories;
         history += parts * blockDim.x) {
      auto stream = task.open(history * task.rows + entry);
      steps += wander(matrix, task, stream, static_cast<std::int32_t>(entry),
                      [&](std::int32_t state, double weight) { sum += weight * task.b[state]; });
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) atomicAdd(&task.x[entry], sum);
  }
  task.count(steps);
}

/// Numbers of a stream that are made `batch` at a time, ahead of use. They wait in shared memory, where each thread has
/// a column.
template <class Streams>
struct Batched {
  static constexpr int batch = 5;

  Streams streams;

  class Stream {
   public:
    __device__ explicit Stream(const typename Streams::Stream& stream) : stream_(stream) {
      extern __shared__ double columns[];
      ahead_ = columns + threadIdx.x;
    }

    __device__ void skip(int numbers) { stream_.skip(numbers); }

    __device__ double next() {
      if (used_ == batch) {
        for (int i = 0; i < batch; ++i) ahead_[i * blockDim.x] = stream_.next();
        used_ = 0;
      }
      return ahead_[used_++ * blockDim.x];
    }

   private:
    typename Streams::Stream stream_;
    double* ahead_;
    int used_ = batch;
  };

  __device__ Stream open(std::int64_t number, std::int64_t id) const { return Stream(streams.open(number, id)); }
};

/// Takes the sums of a group of `count` histories into mean and sum of squares of those before it, of which there were
/// `before` (D. H. D. West, CACM 22 (1979) 532), and clears them.
__global__ void close_group(double* sums, double* means, double* squares, std::int64_t rows, double count,
                            double before) {
  const std::int64_t i = thread_number();
  if (i >= rows) return;
  const double delta = sums[i] / count - means[i];
  means[i] += delta * (count / (before + count));
  squares[i] += delta * delta * (count * before / (before + count));
  sums[i] = 0;
}

unsigned blocks_for(std::int64_t all, std::int64_t block) {
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();  // the kernels loop over what is left
  return static_cast<unsigned>(std::clamp<std::int64_t>((all + block - 1) / block, 1, most));
}

/// The kernel that the request asks for.
template <class Matrix, class Streams, class... Pointers>
void launch(const Request& request, const Task<Streams>& task, Pointers... pointers) {
  const int threads = request.threads;
  const std::int64_t block = std::int64_t{threads} * request.per_thread;
  const std::size_t shared = request.batch == 1 ? 0 : request.batch * threads * sizeof(double);
  if constexpr (Matrix::how == Load::ldg_h) {  // who reads no H has no such kernel
    adjoint<Estimator::expected, Matrix, Streams, Pointers...>
        <<<blocks_for(task.histories, block), threads, shared>>>(task, pointers...);
  } else if (request.method == Method::adjoint) {
    const unsigned blocks = blocks_for(task.histories, block);
    if (request.estimator == Estimator::collision)
      adjoint<Estimator::collision, Matrix, Streams, Pointers...><<<blocks, threads, shared>>>(task, pointers...);
    else
      adjoint<Estimator::expected, Matrix, Streams, Pointers...><<<blocks, threads, shared>>>(task, pointers...);
  } else if (request.map == Map::entry) {
    const unsigned blocks = blocks_for(task.rows, block);
    forward_by_entry<Matrix, Streams, Pointers...><<<blocks, threads, shared>>>(task, pointers...);
  } else if (request.map == Map::history_atomic) {
    const unsigned blocks = blocks_for(task.histories * task.rows, block);
    forward_by_history<Matrix, Streams, Pointers...><<<blocks, threads, shared>>>(task, pointers...);
  } else {
    const std::int64_t parts = blocks_for(task.histories, block);
    const unsigned blocks = blocks_for(parts * task.rows, 1);
    forward_by_block<Matrix, Streams, Pointers...><<<blocks, threads, shared>>>(task, parts, pointers...);
  }
  CHECK_CUDA(cudaGetLastError());
}

/// All that a request needs on the current device.
class WalksOnDevice {
 public:
  WalksOnDevice(const linear::Tables& tables, const linear::Scaled& scaled, const Request& request)
      : request_(request),
        rows_(tables.base.rows),
        streams_per_history_(request.method == Method::adjoint ? 1 : rows_),
        together_(std::min(linear::part_of(request.histories, 1, linear::groups_of(request)),
                           linear::histories_of_launch(request, rows_))) {
    const bool xorwow = request.generator == linear::Generator::xorwow;
    const std::int64_t words = xorwow ? linear::Xorwow::words * together_ * streams_per_history_ : 0;
    refuse_more_than_there_is(
        DeviceMatrix::bytes(tables, request.layout) + 40.0 * static_cast<double>(rows_) +
            4.0 * static_cast<double>(words),
        "--matrix with " + std::to_string(rows_) + " rows and " + std::to_string(together_) + " histories at a time");
    const Stopwatch watch;
    matrix_ = DeviceMatrix(tables, request.layout);
    b_ = DeviceBuffer<double>(scaled.b);
    if (request.method == Method::adjoint) {
      const linear::Start start = linear::start_of(scaled.b);
      start_cdf_ = DeviceBuffer<double>(start.cdf);
      start_weight_ = start.norm;
    }
    for (DeviceBuffer<double>* zeros : {&sums_, &means_, &squares_})
      *zeros = DeviceBuffer<double>(std::vector<double>(scaled.b.size()));
    steps_ = DeviceBuffer<unsigned long long>(std::vector<unsigned long long>(step_counters));
    states_ = DeviceBuffer<std::uint32_t>(static_cast<std::size_t>(words));
    CHECK_CUDA(cudaDeviceSynchronize());
    outcome_.setup_seconds = watch.seconds();
  }

  linear::Outcome run() {
    const std::int64_t groups = linear::groups_of(request_);
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t begin = linear::part_of(request_.histories, group, groups);
      const std::int64_t end = linear::part_of(request_.histories, group + 1, groups);
      for (std::int64_t done = begin; done < end;) {
        const std::int64_t histories = std::min(together_, end - done);
        walk_some(done, histories);
        done += histories;
        if (request_.progress) request_.progress(done);
      }
      timer_.start();
      close_group<<<blocks_for(rows_, 256), 256>>>(sums_.data(), means_.data(), squares_.data(), rows_,
                                                   static_cast<double>(end - begin), static_cast<double>(begin));
      CHECK_CUDA(cudaGetLastError());
      outcome_.error_seconds += timer_.stop();
    }
    fetch(groups);
    return outcome_;
  }

 private:
  void walk_some(std::int64_t first, std::int64_t histories) {
    const States states{states_.data(), histories * streams_per_history_};
    const std::int64_t first_stream = first * streams_per_history_;
    const bool xorwow = request_.generator == linear::Generator::xorwow, batched = request_.batch != 1;
    if (xorwow) {
      timer_.start();
      seed(states, request_, first_stream);
      outcome_.generator_seconds += timer_.stop();
    }
    const auto launcher = [&](auto streams) {
      const Task<decltype(streams)> task{streams,
                                         first_stream,
                                         histories,
                                         static_cast<std::int32_t>(rows_),
                                         static_cast<std::int32_t>(request_.max_steps),
                                         request_.cutoff,
                                         request_.discard,
                                         b_.data(),
                                         start_cdf_.data(),
                                         start_weight_,
                                         sums_.data(),
                                         steps_.data()};
      return [this, task]<class Matrix, class... Pointers>(Pointers... pointers) {
        launch<Matrix, decltype(streams), Pointers...>(request_, task, pointers...);
      };
    };
    const linear::PhiloxStreams philox{request_.seed};
    timer_.start();
    if (xorwow && batched)
      matrix_.pass_plain_to(launcher(Batched<linear::XorwowStreams>{states}));
    else if (xorwow)
      matrix_.pass_plain_to(launcher(linear::XorwowStreams{states}));
    else if (batched)
      matrix_.pass_plain_to(launcher(Batched<linear::PhiloxStreams>{philox}));
    else
      matrix_.pass_to(launcher(philox), linear::load_of(request_));
    outcome_.kernel_seconds += timer_.stop();
  }

  void fetch(std::int64_t groups) {
    outcome_.x = means_.to_host();
    outcome_.standard_error = squares_.to_host();
    for (double& error : outcome_.standard_error)  // 0 / 0 if there is but one group
      error = std::sqrt(error / static_cast<double>(groups - 1) / static_cast<double>(request_.histories));
    const std::vector<unsigned long long> steps = steps_.to_host();
    outcome_.steps = std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
  }

  const Request& request_;
  std::int64_t rows_, streams_per_history_, together_;
  DeviceMatrix matrix_;
  DeviceBuffer<double> b_, start_cdf_, sums_, means_, squares_;
  double start_weight_ = 0;
  DeviceBuffer<unsigned long long> steps_;
  DeviceBuffer<std::uint32_t> states_;
  Timer timer_;
  linear::Outcome outcome_;
};

}  // namespace

linear::Outcome walk(const linear::Tables& tables, const linear::Scaled& scaled, const Request& request, int device) {
  linear::check(tables, scaled, request);
  check_seeding(request);
  CHECK_CUDA(cudaSetDevice(device));
  linear::Outcome outcome = WalksOnDevice(tables, scaled, request).run();
  if (request.estimator == Estimator::expected)  // the first term of the series, which no step has added
    for (std::size_t i = 0; i < outcome.x.size(); ++i) outcome.x[i] += scaled.b[i];
  return outcome;
}

}  // namespace psflip::PSFLIP_PLATFORM
