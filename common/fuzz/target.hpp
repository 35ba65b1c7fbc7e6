/// What the fuzz targets share. A target is the function LLVMFuzzerTestOneInput in a file of its own beside the parser
/// that it gives inputs to, NAME_fuzz.cpp (cmake/fuzzing.cmake builds it, .ci/fuzz searches). It ends the program where
/// the parser breaks a promise.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "app/files/file_names.hpp"
#include "app/files/output_file.hpp"
#include "app/invalid_input.hpp"

namespace psflip::fuzz {

inline void expect(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "not kept: %s\n", promise);
  std::abort();
}

/// A file in memory.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) { expect(descriptor_ >= 0, "a file in memory"); }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void set(std::span<const std::uint8_t> content) {
    const auto size = static_cast<ssize_t>(content.size());
    expect(ftruncate(descriptor_, 0) == 0 && pwrite(descriptor_, content.data(), content.size(), 0) == size, "memory");
  }
  void set(const std::string& content) { set({reinterpret_cast<const std::uint8_t*>(content.data()), content.size()}); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// What `write` puts into an OutputFile, which never gets its name: nothing waits for a disk.
class Written {
 public:
  template <class Write>
  explicit Written(Write write)
      : file_(std::filesystem::temp_directory_path() / ("psFlip_fuzz." + std::to_string(getpid()))) {
    write(file_);
    file_.flush();
  }
  std::string path() const { return part_of(file_.path()); }

 private:
  OutputFile file_;
};

inline int accepted_inputs = 0;

/// What `read` makes of the file; nothing if it refuses it, which takes one line that names the file.
template <class Read>
auto accepted(const MemoryFile& file, Read read) -> std::optional<decltype(read(file.path()))> {
  try {
    auto content = std::optional(read(file.path()));
    ++accepted_inputs;
    return content;
  } catch (const InvalidInput& error) {
    const std::string message = error.what();
    expect(message.starts_with(file.path() + ": "), "a refusal names the file");
    for (const char c : message) expect(c >= ' ' && c <= '~', "a refusal is one line of printable text");
    return std::nullopt;
  }
}

}  // namespace psflip::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
