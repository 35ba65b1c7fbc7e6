#include "app/files/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "app/files/file_names.hpp"
#include "app/invalid_input.hpp"

namespace psflip {
namespace {

bool same_file(const std::string& path, int descriptor) {
  struct stat named;
  struct stat open;
  return stat(path.c_str(), &named) == 0 && fstat(descriptor, &open) == 0 && named.st_dev == open.st_dev &&
         named.st_ino == open.st_ino;
}

/// A file's name is an entry of its folder, and is lost with it if the machine crashes. Where a folder cannot be
/// synchronised, that is as much as can be done.
void synchronise_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
}

/// False if another program has locked the file. Where there are no locks, nobody has.
bool lock(int descriptor, const std::string& path) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  static bool said = false;
  if (!std::exchange(said, true)) {
    std::fprintf(stderr, "%s: %s: no other program should write there\n", path.c_str(), std::strerror(errno));
  }
  return true;
}

/// Opens a file that other programs may be locking, renaming or removing, and locks it. Negative if it cannot be
/// opened; throws InvalidInput, with the name that the user gave, if another program has it.
int open_locked(const std::string& file, const std::string& path) {
  for (;;) {
    const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0) return descriptor;
    if (!lock(descriptor, path)) {
      close(descriptor);
      throw InvalidInput(path + ": another program is writing it");
    }
    if (same_file(file, descriptor)) return descriptor;
    close(descriptor);  // its program has just renamed or removed it
  }
}

}  // namespace

FileLock::FileLock(const std::string& path) : file_(lock_of(behind_links(path))) {
  const SignalsWait signals_wait;
  descriptor_ = open_locked(file_, path);
  if (descriptor_ < 0) throw InvalidInput(path + ": cannot be opened for writing: " + std::strerror(errno));
  unfinished_.emplace(file_, descriptor_);
}

FileLock::~FileLock() {
  unlink(file_.c_str());  // before it is free
  close(descriptor_);
}

void occupy_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) {  // the lowest number that is free is the next to be given
      static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_.ends_with(part_of("")) || path_.ends_with(lock_of("")))
    throw InvalidInput(path_ + ": names with this ending are for files that are not complete; take another");
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path_, error);
  if (path_.empty()) {
    errno = ENOENT;
  } else if (status.type() == std::filesystem::file_type::none) {
    errno = error.value();
  } else if (!std::filesystem::is_character_file(status) && same_file(path_, STDOUT_FILENO)) {
    // Opened by its name, a redirected standard output would get a second file position, and two texts on each other.
    open_stream(dup(STDOUT_FILENO));
    is_standard_output_ = true;
  } else if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    open_stream(open(path_.c_str(), O_WRONLY | O_CLOEXEC));  // fails for a directory, as it should
  } else {
    target_ = behind_links(path_);
    if (!std::filesystem::exists(status))
      open_temporary(std::filesystem::perms::none);
    else if (access(target_.c_str(), W_OK) == 0)
      open_temporary(status.permissions());
  }
  if (stream_ == nullptr) fail("cannot be opened for writing", errno);
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());  // before its lock goes
  if (stream_ != nullptr) std::fclose(stream_);
}

void OutputFile::flush() {
  if (std::fflush(stream_) != 0 || std::ferror(stream_) != 0) fail("cannot be written", error_);
}

void OutputFile::commit() {
  flush();
  if (!temporary_.empty()) {
    // Content before name: after a crash of the machine the target is the old file or the new one, whole.
    if (fsync(descriptor_) != 0) fail("cannot be written", errno);
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be put in place", errno);
    unfinished_.reset();
    temporary_.clear();
    synchronise_folder(target_);
  }
  if (std::fclose(std::exchange(stream_, nullptr)) != 0) fail("cannot be written", errno);
}

/// Leaves stream_ empty and errno set if it cannot be done. A file that is to be replaced hands down its permissions.
void OutputFile::open_temporary(std::filesystem::perms permissions) {
  const SignalsWait signals_wait;
  const std::string part = part_of(target_);
  const int descriptor = open_locked(part, path_);
  if (descriptor < 0) return;
  if (ftruncate(descriptor, 0) != 0) {
    const int error = errno;
    unlink(part.c_str());
    close(descriptor);
    errno = error;
    return;
  }
  temporary_ = part;
  unfinished_.emplace(part, descriptor);
  open_stream(descriptor);
  if (permissions != std::filesystem::perms::none) fchmod(descriptor, static_cast<mode_t>(permissions));
}

/// A stream that keeps the reason for a failure: with the next call of the system errno is another.
void OutputFile::open_stream(int descriptor) {
  if (descriptor < 0) return;
  const auto write_all = [](void* self, const char* bytes, std::size_t count) -> ssize_t {
    OutputFile& file = *static_cast<OutputFile*>(self);
    for (std::size_t done = 0; done < count;) {
      const ssize_t written = write(file.descriptor_, bytes + done, count - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        if (file.error_ == 0) file.error_ = errno;
        return 0;
      }
      done += static_cast<std::size_t>(written);
    }
    return static_cast<ssize_t>(count);
  };
  const auto close_it = [](void* self) { return close(static_cast<OutputFile*>(self)->descriptor_); };
  descriptor_ = descriptor;
  stream_ = fopencookie(this, "wb", {.read = nullptr, .write = write_all, .seek = nullptr, .close = close_it});
}

void OutputFile::fail(const std::string& what, int error) const {
  throw InvalidInput(path_ + ": " + what + ": " + std::strerror(error));
}

}  // namespace psflip
