#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>

namespace stepcast {

/// Turns the first Ctrl-C (or SIGTERM) into a stop request; a second one ends the process as ever. To be made before
/// any thread is, which inherits that these signals are not for it.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  /// Exit code of what a signal stopped: 128 + its number, as shells have it. 0 when none came.
  [[nodiscard]] int exit_code() const { return signal_ > 0 ? 128 + signal_ : 0; }

 private:
  void watch(const std::stop_token& end);

  sigset_t watched_{}, before_{};
  std::stop_source stop_;
  std::atomic<int> signal_{0};
  std::jthread watcher_;
};

}  // namespace stepcast
