#include "gui/end_signals.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <QSocketNotifier>
#include <cerrno>
#include <csignal>

namespace stepcast {

namespace {

constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP};
// A handler may call next to nothing (signal-safety(7)), so it only passes the number on; what it interrupts may be
// about to read errno.
volatile sig_atomic_t writes_to = -1;

void pass_on(int signal) {
  const int kept = errno;
  const auto number = static_cast<unsigned char>(signal);
  [[maybe_unused]] const auto written = write(writes_to, &number, 1);
  errno = kept;
}

}  // namespace

EndSignals::EndSignals(std::function<void(int)> told) : told_(std::move(told)) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets_.data()) != 0) return;  // they end it as ever
  auto* notifier = new QSocketNotifier(sockets_[1], QSocketNotifier::Read, this);
  connect(notifier, &QSocketNotifier::activated, this, &EndSignals::read);
  writes_to = sockets_[0];
  for (const int signal : kSignals) std::signal(signal, pass_on);
}

EndSignals::~EndSignals() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
  writes_to = -1;
  for (const int socket : sockets_)
    if (socket >= 0) close(socket);
}

void EndSignals::read() {
  unsigned char number = 0;
  if (::read(sockets_[1], &number, 1) == 1) told_(number);
}

}  // namespace stepcast
