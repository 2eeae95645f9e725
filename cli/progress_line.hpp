#pragma once

#include <chrono>
#include <string>

namespace stepcast {

/// Progress on standard error: one line that is rewritten on a terminal, else a plain line now and then.
class ProgressLine {
 public:
  ProgressLine();
  /// Ends the line of a terminal.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text);

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace stepcast
