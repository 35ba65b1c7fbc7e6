#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "app/abrupt_end.hpp"

namespace psflip {

/// To be called before a program opens anything: the next file would get the number of a standard stream that is
/// closed, and what is meant for that stream would be written into the file. It becomes one from which nothing can be
/// read, or to which nothing can be written.
void occupy_closed_streams();

/// A lock that holds for as long as the object lives, and is gone with its program however that ends. It is on a file
/// of its own, <path>.psflip.lock, which nobody renames; <path> may come and go. Throws InvalidInput if another program
/// has it, or it cannot be had. Where the file system has no locks, that is said once, and nothing is locked.
class FileLock {
 public:
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::string file_;
  int descriptor_ = -1;
  std::optional<Unfinished> unfinished_;
};

/// A file that appears only when it is complete.
///
/// What is written goes to a file beside the target, <target>.psflip.part, which commit() renames to the target.
/// Without commit() it is removed and the target stays what it was. It is opened at once, so that a place where nothing
/// can be written is refused before any computing, and locked, so that two programs never write the same target. A
/// program that was killed leaves it behind, unlocked, for the next to take; one that a signal ends removes it. A
/// symbolic link is followed: what it leads to is replaced, and may be new. A target that exists and is no regular file
/// (/dev/stdout, /dev/null, a fifo) is written directly instead. Every error is an InvalidInput that names the target.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Where to write: a C stream, because libpng wants one.
  std::FILE* stream() const { return stream_; }
  const std::string& path() const { return path_; }
  /// Whether the target is this program's standard output, which a report then had better leave alone.
  bool is_standard_output() const { return is_standard_output_; }

  /// Sends to the system what was written; throws if not all of it could be written, on a full disk for instance.
  void flush();
  /// Flushes, closes and puts the file in its place; it then survives a crash of the machine. The last call.
  void commit();

 private:
  void open_temporary(std::filesystem::perms permissions);
  void open_stream(int descriptor);
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string path_;       ///< as the user named it
  std::string target_;     ///< the same behind symbolic links, which a rename would replace
  std::string temporary_;  ///< empty if the target is written directly
  std::optional<Unfinished> unfinished_;
  std::FILE* stream_ = nullptr;
  int descriptor_ = -1;  ///< of the stream
  int error_ = 0;        ///< why something could not be written, when that was first so
  bool is_standard_output_ = false;
};

}  // namespace psflip
