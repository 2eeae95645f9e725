#include "cli/progress_line.hpp"

#include <unistd.h>

#include <cstdio>

namespace stepcast {

namespace {

/// Between plain lines: a log of an hour's sweep stays readable.
constexpr std::chrono::seconds kBetweenLines{10};

}  // namespace

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO) == 1), last_(std::chrono::steady_clock::now()) {}

ProgressLine::~ProgressLine() {
  if (terminal_ && shown_) std::fputc('\n', stderr);
}

void ProgressLine::show(const std::string& text) {
  // Carriage return, then erase to the end of the line (ECMA-48).
  if (terminal_) {
    std::fputs(("\r" + text + "\x1b[K").c_str(), stderr);
    std::fflush(stderr);
  } else if (const auto now = std::chrono::steady_clock::now(); now - last_ >= kBetweenLines) {
    std::fputs((text + "\n").c_str(), stderr);
    last_ = now;
  }
  shown_ = true;
}

}  // namespace stepcast
