#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/protocol/environment_error.hpp"
#include "sim/protocol/messages.hpp"

namespace stepcast {

/// Where the worker lies: `$STEPCAST_WORKER` if that is set, else beside the running executable, else in `../bin` of
/// it. Throws EnvironmentError that names the places looked at.
std::filesystem::path find_worker();

/// A stepcast-worker process and the conversation with it.
///
/// Every member function throws EnvironmentError when the worker cannot run here (not found, or a shared library is
/// missing) and std::runtime_error with what it wrote to its standard error when it dies.
class WorkerClient {
 public:
  /// Starts a worker that runs up to `jobs` simulations at once.
  explicit WorkerClient(int jobs = 1);
  WorkerClient(const WorkerClient&) = delete;
  WorkerClient& operator=(const WorkerClient&) = delete;
  /// Ends the worker, finished or not, and reaps it.
  ~WorkerClient();

  /// Starts a worker for one request, and waits for its reply: the quickest way to run one scenario.
  static Reply run_once(const Request& request);

  /// Hands a request over; never waits. Requests may run, and be answered, in any order.
  void submit(const Request& request);
  /// Waits for the next reply; nothing when every request has been answered.
  std::optional<Reply> next();
  /// The same, but waits no longer than `patience`; nothing, too, when that is over.
  std::optional<Reply> next(std::chrono::milliseconds patience);
  /// Requests whose reply has not been taken.
  [[nodiscard]] std::size_t outstanding() const { return unanswered_ + replies_.size(); }

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  explicit WorkerClient(const std::vector<std::string>& arguments);
  void spawn(const std::vector<std::string>& arguments);
  void write_some();
  void read_errors();
  bool read_replies();
  void exchange(int timeout_ms);
  std::optional<Reply> taken();
  void close_input();
  [[noreturn]] void report_death();
  void end();

  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;  ///< our ends of the worker's standard streams
  std::string unsent_, partial_, error_text_;
  std::deque<Reply> replies_;
  std::size_t unanswered_ = 0;
  bool once_ = false;
};

}  // namespace stepcast
