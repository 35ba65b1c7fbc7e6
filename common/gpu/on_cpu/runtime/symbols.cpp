#include "symbols.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "device.hpp"
#include "settings.hpp"
#include "streams.hpp"

namespace cuda_on_cpu {
namespace {

struct Symbol {
  int loaded = 0;                            ///< the device whose copy the variable holds
  std::vector<std::vector<std::byte>> copy;  ///< by device
};

std::mutex mutex_of_symbols;
std::map<void*, Symbol> symbols;

void load(void* variable, Symbol& symbol, int device) {
  if (symbol.loaded == device) return;
  std::vector<std::byte>&out = symbol.copy[symbol.loaded], &in = symbol.copy[device];
  std::memcpy(out.data(), variable, out.size());
  std::memcpy(variable, in.data(), in.size());
  symbol.loaded = device;
}

void load_for_copy(void* variable, std::size_t bytes, int device) {
  const auto [it, added] = symbols.try_emplace(variable);
  if (added) {  // nobody changed it yet: every device holds the initial value
    const auto* begin = static_cast<const std::byte*>(variable);
    it->second.copy.assign(static_cast<std::size_t>(settings().devices), {begin, begin + bytes});
  }
  load(variable, it->second, device);
}

}  // namespace

void load_symbols(int device) {
  const std::lock_guard lock(mutex_of_symbols);
  for (auto& [variable, symbol] : symbols) load(variable, symbol, device);
}

cudaError_t copy_to_symbol(void* symbol, std::size_t symbol_bytes, const void* source, std::size_t bytes,
                           std::size_t offset) {
  if (offset > symbol_bytes || bytes > symbol_bytes - offset) return report(cudaErrorInvalidValue);
  enqueue(nullptr, [=, device = current_device()] {
    const std::lock_guard lock(mutex_of_symbols);
    load_for_copy(symbol, symbol_bytes, device);
    std::memcpy(static_cast<std::byte*>(symbol) + offset, source, bytes);
  });
  finish(nullptr);
  return cudaSuccess;
}

cudaError_t copy_from_symbol(void* target, void* symbol, std::size_t symbol_bytes, std::size_t bytes,
                             std::size_t offset) {
  if (offset > symbol_bytes || bytes > symbol_bytes - offset) return report(cudaErrorInvalidValue);
  enqueue(nullptr, [=, device = current_device()] {
    const std::lock_guard lock(mutex_of_symbols);
    load_for_copy(symbol, symbol_bytes, device);
    std::memcpy(target, static_cast<const std::byte*>(symbol) + offset, bytes);
  });
  finish(nullptr);
  return cudaSuccess;
}

}  // namespace cuda_on_cpu
