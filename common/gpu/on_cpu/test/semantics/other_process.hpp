/// A second process for tests of what processes share: the same program, which runs TEST(..., DISABLED_Other) and no
/// other test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "gpu/check.hpp"
#include "gpu/device_buffer.hpp"

extern char** environ;

namespace psflip::PSFLIP_PLATFORM {

/// A line to the other process. Both ends send and receive in the same order.
class Channel {
 public:
  static constexpr const char* variable = "PSFLIP_TEST_CHANNEL";  // of the environment: a file descriptor

  explicit Channel(int file) : file_(file) {}
  /// In the process that an OtherProcess is. None if this process was not started by one.
  static std::optional<Channel> of_other_process() {
    const char* file = std::getenv(variable);
    return file == nullptr ? std::nullopt : std::optional(Channel(std::atoi(file)));
  }

  template <class T>
  void send(const T& value) const {
    ASSERT_EQ(::send(file_, &value, sizeof value, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof value));
  }
  template <class T>
  T receive() const {
    T value{};
    EXPECT_EQ(recv(file_, &value, sizeof value, MSG_WAITALL), static_cast<ssize_t>(sizeof value));
    return value;
  }

 private:
  int file_;
};

/// This program again, which is told a task by number.
class OtherProcess {
 public:
  explicit OtherProcess(int task) {
    int files[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, files), 0);
    fcntl(files[0], F_SETFD, FD_CLOEXEC);
    setenv(Channel::variable, std::to_string(files[1]).c_str(), 1);
    std::string program = "/proc/self/exe", filter = "--gtest_filter=*.DISABLED_Other",
                disabled = "--gtest_also_run_disabled_tests", brief = "--gtest_brief=1";
    char* arguments[] = {program.data(), filter.data(), disabled.data(), brief.data(), nullptr};
    EXPECT_EQ(posix_spawn(&process_, program.c_str(), nullptr, nullptr, arguments, environ), 0);
    unsetenv(Channel::variable);
    close(files[1]);
    file_ = files[0];
    channel().send(task);
  }
  ~OtherProcess() {
    if (process_ > 0) kill(process_, SIGKILL);
    status();
    close(file_);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  Channel channel() const { return Channel(file_); }
  /// As waitpid gives it, at its end: 0 if all went as expected there.
  int status() {
    int status = 0;
    if (process_ > 0) waitpid(process_, &status, 0);
    process_ = 0;
    return status;
  }

 private:
  pid_t process_ = 0;
  int file_ = -1;
};

template <class T>
cudaIpcMemHandle_t handle_of(DeviceBuffer<T>& buffer) {
  cudaIpcMemHandle_t handle;
  CHECK_CUDA(cudaIpcGetMemHandle(&handle, buffer.data()));
  return handle;
}
inline int* open(const cudaIpcMemHandle_t& handle) {
  void* pointer = nullptr;
  CHECK_CUDA(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess));
  return static_cast<int*>(pointer);
}

}  // namespace psflip::PSFLIP_PLATFORM
