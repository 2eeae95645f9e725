#include "sim/worker/server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "sim/worker/run_job.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

/// A line as a request, or the reply that says why it is none.
struct Reading {
  std::optional<Request> request;
  Reply refusal;
};

Reading read_request(const std::string& line) {
  Reading out;
  Diagnostics diagnostics("request");
  const Json message = parse_json(line, diagnostics);
  if (!diagnostics.ok()) {
    out.refusal.error = InputError(diagnostics.faults()).what();
    return out;
  }
  try {
    out.request = request_from_json(message);
  } catch (const std::exception& error) {
    // The id, if there is one, lets the client tell which request this was.
    if (message.is_object() && message.contains("id") && message["id"].is_primitive()) out.refusal.id = message["id"];
    out.refusal.error = fmt::format("request: {}", error.what());
  }
  return out;
}

Reply pong(const Request& request) {
  Reply reply;
  reply.id = request.id;
  reply.version = kVersion;
  return reply;
}

}  // namespace

std::string answer_once(const std::string& line) {
  const Reading reading = read_request(line);
  if (!reading.request) return line_of(to_json(reading.refusal));
  const bool ping = reading.request->command == Request::Command::ping;
  return line_of(to_json(ping ? pong(*reading.request) : run_job(*reading.request)));
}

void Server::serve() {
  while (heard_ && (open_ || !waiting_.empty() || !running_.empty())) {
    start_children();
    wait();
  }
}

void Server::wait() {
  std::vector<pollfd> streams{{open_ ? input_ : -1, POLLIN, 0}};
  for (const Running& running : running_) streams.push_back({running.child.descriptor(), POLLIN, 0});
  if (!open_ && running_.empty()) return;
  if (::poll(streams.data(), streams.size(), -1) < 0) {
    if (errno == EINTR) return;
    throw std::runtime_error(fmt::format("poll: {}", std::strerror(errno)));
  }
  std::vector<Running> still;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (streams[i + 1].revents == 0 || running_[i].child.read()) {
      still.push_back(std::move(running_[i]));
    } else {
      finish(running_[i]);
    }
  }
  running_.swap(still);
  if (streams[0].revents != 0) read_requests();
}

void Server::read_requests() {
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(input_, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return;
  if (count <= 0) {
    open_ = false;
    if (!partial_.empty()) accept(partial_);  // the last line may lack its newline
    return partial_.clear();
  }
  std::string_view taken(buffer.data(), static_cast<std::size_t>(count));
  if (refused_) {
    const std::size_t end = taken.find('\n');
    if (end == std::string_view::npos) return;
    taken.remove_prefix(end + 1);
    refused_ = false;
  }
  const std::size_t known = partial_.size();
  partial_.append(taken);
  std::size_t begin = 0;
  for (std::size_t end = partial_.find('\n', known); end != std::string::npos; end = partial_.find('\n', begin)) {
    accept(partial_.substr(begin, end - begin));
    begin = end + 1;
  }
  partial_.erase(0, begin);
  if (partial_.size() > kMostJsonBytes) {
    accept(partial_);
    partial_ = {};
    refused_ = true;
  }
}

void Server::accept(const std::string& line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  Reading reading = read_request(line);
  if (!reading.request) return reply(line_of(to_json(reading.refusal)));
  if (reading.request->command == Request::Command::ping) return reply(line_of(to_json(pong(*reading.request))));
  waiting_.push_back(std::move(*reading.request));
}

void Server::start_children() {
  while (!waiting_.empty() && running_.size() < jobs_) {
    const Request request = std::move(waiting_.front());
    waiting_.pop_front();
    running_.push_back({request.id, ChildProcess([&] { return line_of(to_json(run_job(request))); })});
  }
}

void Server::finish(Running& running) {
  Reply failure;
  failure.id = running.id;
  try {
    return reply(running.child.result());
  } catch (const std::exception& error) {
    failure.error = error.what();
  }
  reply(line_of(to_json(failure)));
}

void Server::reply(const std::string& line) {
  std::size_t sent = 0;
  while (sent < line.size() && heard_) {
    const ssize_t count = ::write(output_, line.data() + sent, line.size() - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      heard_ = false;
      if (errno != EPIPE) failure_ = errno;
    }
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
}

}  // namespace stepcast
