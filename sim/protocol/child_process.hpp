#pragma once

#include <sys/types.h>

#include <functional>
#include <stdexcept>
#include <string>

namespace stepcast {

/// A child process was killed by a signal (SimGrid aborts on what it does not like).
class ChildDied : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A function that runs in a forked child and hands its result back through a pipe. SimGrid's engine can be made once a
/// process, and aborts when it is wronged: neither reaches the parent.
class ChildProcess {
 public:
  /// Forks; the child runs `body`, sends what it returns (or the text of what it throws) and leaves by _exit, so that
  /// nothing of the parent is flushed or destroyed twice. Throws std::runtime_error when there can be no child.
  explicit ChildProcess(const std::function<std::string()>& body);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills a child that is still there, and reaps it.
  ~ChildProcess();

  /// Where its output comes from, to poll.
  [[nodiscard]] int descriptor() const { return pipe_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Reads what is there, waiting for at least one byte. False once the child has closed its end.
  bool read();
  /// Waits for the end and returns the result. Throws ChildDied when a signal ended it, and std::runtime_error with the
  /// text of the exception that left `body`.
  std::string result();

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string received_;
};

/// Runs `body` in a child and waits for its result; throws as ChildProcess::result does.
std::string run_in_child(const std::function<std::string()>& body);

}  // namespace stepcast
