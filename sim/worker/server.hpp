#pragma once

#include <deque>
#include <string>
#include <vector>

#include "sim/protocol/child_process.hpp"
#include "sim/protocol/messages.hpp"

namespace stepcast {

/// Answers one request line in this process. A line that is no request is answered with what is wrong with it.
std::string answer_once(const std::string& line);

/// Reads request lines, runs each in a child of its own, up to `jobs` at once, and writes the replies as they come. A
/// child that dies is an error reply; the server goes on.
class Server {
 public:
  Server(int input, int output, int jobs) : input_(input), output_(output), jobs_(static_cast<std::size_t>(jobs)) {}

  /// Until the input ends and everything has been answered, or nobody reads the replies.
  void serve();
  /// Why a reply could not be written, as errno has it; 0: all were, or the client had gone.
  [[nodiscard]] int failure() const { return failure_; }

 private:
  struct Running {
    Json id;
    ChildProcess child;
  };
  void wait();
  void read_requests();
  void accept(const std::string& line);
  void start_children();
  void finish(Running& running);
  void reply(const std::string& line);

  int input_, output_;
  std::size_t jobs_;
  bool open_ = true;
  int failure_ = 0;
  bool heard_ = true;  ///< somebody reads the replies
  std::string partial_;
  bool refused_ = false;  ///< the line that is being read is too long, and its client has been told
  std::deque<Request> waiting_;
  std::vector<Running> running_;
};

}  // namespace stepcast
