#include "sim/protocol/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "sim/protocol/coverage.hpp"

namespace stepcast {

namespace {

/// First byte of what a child sends.
constexpr char kResult = 'R';
constexpr char kError = 'E';

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

[[noreturn]] void run_and_leave(const std::function<std::string()>& body, int descriptor) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody wants the result of a parent that was killed
  std::string message;
  try {
    message = kResult + body();
  } catch (const std::exception& error) {
    message = std::string(1, kError) + error.what();
  } catch (...) {
    message = std::string(1, kError) + "an exception of unknown type";
  }
  std::fflush(nullptr);
  keep_coverage();
  ::_exit(write_all(descriptor, message) ? 0 : 1);
}

}  // namespace

ChildProcess::ChildProcess(const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error(fmt::format("no pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);  // else the child would flush what is buffered once more
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    run_and_leave(body, ends[1]);
  }
  const int error = errno;
  ::close(ends[1]);
  pipe_ = ends[0];
  if (pid_ < 0) {
    ::close(pipe_);
    throw std::runtime_error(fmt::format("no child process: {}", std::strerror(error)));
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      received_(std::move(other.received_)) {}

ChildProcess::~ChildProcess() {
  if (pipe_ >= 0) ::close(pipe_);
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool ChildProcess::read() {
  std::array<char, 65536> buffer;
  ssize_t count = 0;
  do {
    count = ::read(pipe_, buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count > 0) received_.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::string ChildProcess::result() {
  while (read()) {
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    throw ChildDied(fmt::format("the simulation died of signal {} ({})", signal, ::strsignal(signal)));
  }
  if (received_.empty() || WEXITSTATUS(status) != 0)
    throw ChildDied(fmt::format("the simulation ended with status {} and no result", WEXITSTATUS(status)));
  const char kind = received_.front();
  received_.erase(0, 1);
  if (kind == kError) throw std::runtime_error(received_);
  return std::move(received_);
}

std::string run_in_child(const std::function<std::string()>& body) { return ChildProcess(body).result(); }

}  // namespace stepcast
