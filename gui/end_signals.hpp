#pragma once

#include <QObject>
#include <array>
#include <functional>

namespace stepcast {

/// Ends the program in order when the system asks it to (SIGTERM at the end of a session, Ctrl-C, a closed terminal):
/// the event loop is told the signal's number and may save, clean up and leave. One at a time, while it lives.
class EndSignals : public QObject {
 public:
  explicit EndSignals(std::function<void(int signal)> told);
  ~EndSignals() override;

 private:
  void read();

  std::function<void(int)> told_;
  std::array<int, 2> sockets_{-1, -1};  ///< what the handler writes, what the loop reads
};

}  // namespace stepcast
