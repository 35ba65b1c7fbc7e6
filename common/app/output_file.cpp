#include "app/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

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
  const std::filesystem::path folder = file.parent_path().empty() ? "." : file.parent_path();
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
int open_locked(const std::filesystem::path& file, const std::string& path) {
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

FileLock::FileLock(const std::string& path) {
  std::error_code error;
  file_ = std::filesystem::weakly_canonical(path, error);
  if (error) file_ = path;
  file_ += ".psflip.lock";
  descriptor_ = open_locked(file_, path);
  if (descriptor_ < 0) throw InvalidInput(path + ": cannot be opened for writing: " + std::strerror(errno));
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
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path_, error);
  if (path_.empty()) {
    errno = ENOENT;
  } else if (!std::filesystem::is_character_file(status) && same_file(path_, STDOUT_FILENO)) {
    // Opened by its name, a redirected standard output would get a second file position, and two texts on each other.
    stream_ = fdopen(dup(STDOUT_FILENO), "wb");
    is_standard_output_ = true;
  } else if (!std::filesystem::exists(status)) {
    target_ = path_;
    open_temporary(std::filesystem::perms::none);
  } else if (std::filesystem::is_regular_file(status)) {
    target_ = std::filesystem::canonical(path_);
    if (access(target_.c_str(), W_OK) == 0) {
      open_temporary(status.permissions());
    }
  } else {
    stream_ = std::fopen(path_.c_str(), "wb");  // fails for a directory, as it should
  }
  if (stream_ == nullptr) {
    fail("cannot be opened for writing");
  }
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) {
    unlink(temporary_.c_str());  // before its lock goes
  }
  if (stream_ != nullptr) {
    std::fclose(stream_);
  }
}

void OutputFile::flush() {
  if (std::fflush(stream_) != 0 || std::ferror(stream_) != 0) {
    fail("cannot be written");
  }
}

void OutputFile::commit() {
  flush();
  if (!temporary_.empty()) {
    // Content before name: after a crash of the machine the target is the old file or the new one, whole.
    if (fsync(fileno(stream_)) != 0) {
      fail("cannot be written");
    }
    if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
      fail("cannot be put in place");
    }
    temporary_.clear();
    synchronise_folder(target_);
  }
  if (std::fclose(std::exchange(stream_, nullptr)) != 0) {
    fail("cannot be written");
  }
}

/// Leaves stream_ empty and errno set if it cannot be done. A file that is to be replaced hands down its permissions.
void OutputFile::open_temporary(std::filesystem::perms permissions) {
  std::filesystem::path path = target_;
  path += ".psflip.part";
  const int descriptor = open_locked(path, path_);
  if (descriptor < 0 || ftruncate(descriptor, 0) != 0) {
    return;
  }
  temporary_ = path;
  stream_ = fdopen(descriptor, "wb");
  if (permissions != std::filesystem::perms::none) {
    fchmod(descriptor, static_cast<mode_t>(permissions));
  }
}

void OutputFile::fail(const std::string& what) const {
  throw InvalidInput(path_ + ": " + what + ": " + std::strerror(errno));
}

}  // namespace psflip
