/// Which bytes of an array in device memory somebody has written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuda_on_cpu::counters {

/// Bit by byte. Host threads may mark and ask at the same time.
class WrittenBytes {
 public:
  explicit WrittenBytes(std::size_t bytes) : bytes_(bytes), words_(bytes / 64 + 1) {}

  std::size_t bytes() const { return bytes_; }

  void mark(std::size_t offset, std::size_t bytes) {
    each_word(offset, bytes, [](Word& word, std::uint64_t bits) {
      if ((word.load(std::memory_order_relaxed) & bits) != bits) word.fetch_or(bits, std::memory_order_relaxed);
      return true;
    });
  }
  bool hold(std::size_t offset, std::size_t bytes) {
    return each_word(offset, bytes, [](const Word& word, std::uint64_t bits) {
      return (word.load(std::memory_order_relaxed) & bits) == bits;
    });
  }

 private:
  using Word = std::atomic<std::uint64_t>;

  /// Whether `use` says true of all words that have some of these bytes.
  template <class Use>
  bool each_word(std::size_t offset, std::size_t bytes, Use use) {
    while (bytes > 0) {
      const std::size_t first = offset % 64, here = bytes < 64 - first ? bytes : 64 - first;
      const std::uint64_t bits = (here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1) << first;
      if (!use(words_[offset / 64], bits)) return false;
      offset += here;
      bytes -= here;
    }
    return true;
  }

  std::size_t bytes_;
  std::vector<Word> words_;
};

}  // namespace cuda_on_cpu::counters
