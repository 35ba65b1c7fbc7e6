/// Files of numbers that say what they are. Everything is little-endian:
///   8 bytes    a name: "psFlip3D" for a checkpoint
///   4 bytes    the version of all that follows, 1
///   4 bytes    0
///   8 bytes    n, the bytes of the description
///   n bytes    the description: a JSON object
///   ...        what the kind of file says
///   8 bytes    the Checksum (app/state_hash.hpp) of everything before
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/files/output_file.hpp"
#include "app/state_hash.hpp"
#include "spin_glass/engine/simulation.hpp"

namespace psflip::spin_glass {

struct KindOfFile {
  std::string_view magic;  ///< 8 characters
  std::string_view name;   ///< "checkpoint"
};

class DescribedOutput {
 public:
  /// Writes the beginning.
  DescribedOutput(OutputFile& file, const KindOfFile& kind, const std::string& description);

  void put(const void* data, std::size_t bytes);
  template <class T>
  void put(std::span<const T> values) {
    put(values.data(), values.size_bytes());
  }
  /// Bits, 1 = up, the lowest bit of a byte first: of all lattices in the order of State.
  void put_spins(const Simulation& simulation);
  /// The checksum. Does not commit.
  void end();

 private:
  OutputFile& file_;
  Checksum checksum_;
};

/// What goes wrong is an InvalidInput that names the file.
class DescribedInput {
 public:
  /// Opens one and checks every byte.
  DescribedInput(std::string path, const KindOfFile& kind);

  const std::string& path() const { return path_; }
  const std::string& description() const { return description_; }
  /// Between the description and the checksum.
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }

  /// The next bytes; at first those after the description.
  void read(void* to, std::size_t bytes);
  void seek(std::int64_t byte);
  std::int64_t at() const;
  /// As put_spins() wrote them; the first bit is that of a byte.
  std::vector<Spin> read_spins(std::int64_t count);
  [[noreturn]] void refuse(const std::string& why) const;
  /// Closes the file; the next seek() opens it again.
  void close() { file_.reset(); }

 private:
  void open();

  std::string path_, description_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
  std::int64_t begin_ = 0, end_ = 0;
};

}  // namespace psflip::spin_glass
