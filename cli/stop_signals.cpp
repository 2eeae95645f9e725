#include "cli/stop_signals.hpp"

#include <ctime>

namespace stepcast {

StopSignals::StopSignals() {
  sigemptyset(&watched_);
  sigaddset(&watched_, SIGINT);
  sigaddset(&watched_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &watched_, &before_);
  watcher_ = std::jthread([this](const std::stop_token& end) { watch(end); });
}

StopSignals::~StopSignals() {
  watcher_ = {};
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopSignals::watch(const std::stop_token& end) {
  constexpr timespec kLook{0, 50'000'000};  // ns: how soon the destructor is heard
  while (!end.stop_requested()) {
    const int signal = sigtimedwait(&watched_, nullptr, &kLook);
    if (signal <= 0) continue;
    signal_ = signal;
    stop_.request_stop();
    pthread_sigmask(SIG_UNBLOCK, &watched_, nullptr);  // whoever presses twice means now
    return;
  }
}

}  // namespace stepcast
