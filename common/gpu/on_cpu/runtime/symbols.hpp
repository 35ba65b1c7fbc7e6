/// __constant__ and __device__ variables. The program has one copy of each, a device needs its own: those that the
/// host has ever touched are exchanged when another device runs a kernel.
#pragma once

#include <cstddef>

#include "errors.hpp"
#include "memory.hpp"

namespace cuda_on_cpu {

cudaError_t copy_to_symbol(void* symbol, std::size_t symbol_bytes, const void* source, std::size_t bytes,
                           std::size_t offset);
cudaError_t copy_from_symbol(void* target, void* symbol, std::size_t symbol_bytes, std::size_t bytes,
                             std::size_t offset);
/// Makes the variables hold what the device's copies hold.
void load_symbols(int device);

template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* source, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice) {
  return copy_to_symbol(const_cast<std::remove_const_t<T>*>(&symbol), sizeof(T), source, bytes, offset);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* target, T& symbol, std::size_t bytes, std::size_t offset = 0,
                                 cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  return copy_from_symbol(target, const_cast<std::remove_const_t<T>*>(&symbol), sizeof(T), bytes, offset);
}

}  // namespace cuda_on_cpu
