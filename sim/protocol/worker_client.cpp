#include "sim/protocol/worker_client.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "sim/protocol/own_program.hpp"

namespace stepcast {

namespace {

/// Last part of the worker's standard error that is kept for messages.
constexpr std::size_t kKeptErrorText = 16384;

void close_if_open(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

/// Reads what is there into `text`. False at the end of the stream.
bool read_into(int descriptor, std::string& text) {
  std::array<char, 65536> buffer;
  ssize_t count = 0;
  do {
    count = ::read(descriptor, buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

int wait_for_end(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Both ends of the three streams that a worker is started with. The worker's input is a socket, because sending to one
/// whose reader is gone can be told not to raise SIGPIPE.
struct Streams {
  std::array<int, 2> input{-1, -1}, output{-1, -1}, errors{-1, -1};
  Streams() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.data()) != 0 ||
        ::pipe2(output.data(), O_CLOEXEC) != 0 || ::pipe2(errors.data(), O_CLOEXEC) != 0) {
      const std::string reason = std::strerror(errno);
      close_all();
      throw EnvironmentError("cannot talk to a worker: " + reason);
    }
  }
  void close_all() {
    for (auto* pair : {&input, &output, &errors})
      for (int& descriptor : *pair) close_if_open(descriptor);
  }
};

}  // namespace

std::filesystem::path find_worker() { return own_program("stepcast-worker", "STEPCAST_WORKER", "the simulator"); }

WorkerClient::WorkerClient(int jobs) { spawn({"--jobs", std::to_string(std::max(1, jobs))}); }

WorkerClient::WorkerClient(const std::vector<std::string>& arguments) { spawn(arguments); }

WorkerClient::~WorkerClient() { end(); }

Reply WorkerClient::run_once(const Request& request) {
  WorkerClient worker(std::vector<std::string>{"--once"});
  worker.once_ = true;
  worker.submit(request);
  return std::move(*worker.next());
}

void WorkerClient::spawn(const std::vector<std::string>& arguments) {
  std::string program = find_worker().string();
  std::vector<std::string> words = arguments;
  std::vector<char*> argv{program.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Streams streams;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, streams.input[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, streams.output[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, streams.errors[1], STDERR_FILENO);
  const int error = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = -1;
    streams.close_all();
    throw EnvironmentError(fmt::format("cannot start {}: {}", program, std::strerror(error)));
  }
  input_ = std::exchange(streams.input[0], -1);
  output_ = std::exchange(streams.output[0], -1);
  errors_ = std::exchange(streams.errors[0], -1);
  streams.close_all();
}

void WorkerClient::submit(const Request& request) {
  unsent_ += line_of(to_json(request));
  ++unanswered_;
  write_some();
}

std::optional<Reply> WorkerClient::next() {
  while (replies_.empty() && unanswered_ > 0) exchange(-1);
  return taken();
}

std::optional<Reply> WorkerClient::next(std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + patience;
  while (replies_.empty() && unanswered_ > 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) break;
    exchange(static_cast<int>(left.count()));
  }
  return taken();
}

std::optional<Reply> WorkerClient::taken() {
  if (replies_.empty()) return std::nullopt;
  Reply reply = std::move(replies_.front());
  replies_.pop_front();
  return reply;
}

/// Waits until the worker wants input or has said something, and deals with it. Input and output are served together:
/// a worker that cannot get rid of its replies stops reading.
void WorkerClient::exchange(int timeout_ms) {
  std::array<pollfd, 3> streams{pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0},
                                pollfd{unsent_.empty() ? -1 : input_, POLLOUT, 0}};
  if (::poll(streams.data(), streams.size(), timeout_ms) < 0) {
    if (errno == EINTR) return;
    throw std::runtime_error(fmt::format("waiting for the worker: {}", std::strerror(errno)));
  }
  if (streams[2].revents != 0) write_some();
  if (streams[1].revents != 0) read_errors();
  if (streams[0].revents != 0 && !read_replies()) report_death();
}

void WorkerClient::write_some() {
  while (!unsent_.empty() && input_ >= 0) {
    const ssize_t sent = ::send(input_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) {
      // The worker is gone: the end of its output will tell how.
      unsent_.clear();
      return close_input();
    }
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
  if (once_) close_input();
}

void WorkerClient::close_input() { close_if_open(input_); }

void WorkerClient::read_errors() {
  if (!read_into(errors_, error_text_)) close_if_open(errors_);
  if (error_text_.size() > kKeptErrorText) error_text_.erase(0, error_text_.size() - kKeptErrorText);
}

bool WorkerClient::read_replies() {
  const std::size_t known = partial_.size();
  if (!read_into(output_, partial_)) return false;
  std::size_t begin = 0;
  for (std::size_t end = partial_.find('\n', known); end != std::string::npos; end = partial_.find('\n', begin)) {
    const Json message = Json::parse(partial_.begin() + static_cast<std::ptrdiff_t>(begin),
                                     partial_.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (message.is_discarded())
      throw std::runtime_error("the worker said something that is no reply: " + partial_.substr(begin, end - begin));
    replies_.push_back(reply_from_json(message));
    if (unanswered_ > 0) --unanswered_;
    begin = end + 1;
  }
  partial_.erase(0, begin);
  return true;
}

void WorkerClient::report_death() {
  close_input();
  while (errors_ >= 0) read_errors();
  const int status = wait_for_end(std::exchange(pid_, -1));
  while (!error_text_.empty() && error_text_.back() == '\n') error_text_.pop_back();
  const std::string said = error_text_.empty() ? "" : ": " + error_text_;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotLoad)
    throw EnvironmentError("the simulator stepcast-worker cannot start here" + said);
  if (WIFSIGNALED(status))
    throw std::runtime_error(
        fmt::format("the worker died of signal {} ({}){}", WTERMSIG(status), ::strsignal(WTERMSIG(status)), said));
  throw std::runtime_error(fmt::format("the worker ended with status {} and {} requests unanswered{}",
                                       WEXITSTATUS(status), unanswered_, said));
}

void WorkerClient::end() {
  close_input();
  close_if_open(output_);
  close_if_open(errors_);
  if (pid_ < 0) return;
  // A worker that has answered everything leaves by itself; what is left of one that has not is of no use.
  if (unanswered_ > 0) ::kill(pid_, SIGKILL);
  wait_for_end(std::exchange(pid_, -1));
}

}  // namespace stepcast
