/// <cuda_awbarrier_primitives.h> as psFlip's CPU path has it: the barriers of <cuda/barrier> as plain functions.
#pragma once

#include <cuda/barrier>

#include <cstdint>

namespace cuda_on_cpu {

using __mbarrier_t = cuda::barrier<cuda::thread_scope_block>;
using __mbarrier_token_t = __mbarrier_t::arrival_token;

inline void __mbarrier_init(__mbarrier_t* barrier, std::uint32_t expected, Where where = Where::current()) {
  init(barrier, expected, where);
}
inline __mbarrier_token_t __mbarrier_arrive(__mbarrier_t* barrier, Where where = Where::current()) {
  return barrier->arrive(1, where);
}
/// Whether the last phase of that parity is over. Here a thread that asks is answered when it is: who asks in a loop
/// would have it so, and a phase that never ends is then told as a deadlock.
inline bool __mbarrier_test_wait_parity(__mbarrier_t* barrier, bool parity, Where where = Where::current()) {
  barrier->wait_parity(parity, where);
  return true;
}

}  // namespace cuda_on_cpu
