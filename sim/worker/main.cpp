#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "sim/protocol/coverage.hpp"
#include "sim/protocol/exit_code.hpp"
#include "sim/worker/server.hpp"
#include "version.hpp"

namespace {

using stepcast::kBadInput, stepcast::kDone, stepcast::kEnvironmentMissing;

constexpr int kMostJobs = 4096;

constexpr std::string_view kUsage =
    "usage: stepcast-worker [--jobs N | --once | --version]\n"
    "Runs simulations for stepcast: JSON requests on standard input, one a line, replies on standard output\n"
    "(docs/formats/worker-protocol.md).\n"
    "  --jobs N   run up to N at once, each in a process of its own; default 1\n"
    "  --once     run one request in this process, reply, and leave\n";

int serve(int jobs) {
  ::signal(SIGPIPE, SIG_IGN);  // a client that has gone is the end of the input, not a death
  stepcast::Server server(STDIN_FILENO, STDOUT_FILENO, jobs);
  server.serve();
  if (server.failure() == 0) return kDone;
  std::fprintf(stderr, "stepcast-worker: cannot write to standard output: %s\n", std::strerror(server.failure()));
  return kEnvironmentMissing;
}

[[noreturn]] void serve_once() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody wants the answer of a client that was killed
  std::string line;
  std::getline(std::cin, line);
  const std::string reply = stepcast::answer_once(line);
  stepcast::keep_coverage();
  std::fwrite(reply.data(), 1, reply.size(), stdout);
  std::fflush(stdout);
  // Past SimGrid's destructors, which are slow and not all safe.
  ::_exit(kDone);
}

int bad_usage() {
  std::fwrite(kUsage.data(), 1, kUsage.size(), stderr);
  return kBadInput;
}

int run(int count, char** arguments) {
  const std::string_view first = count > 1 ? arguments[1] : "";
  if (first.empty()) return serve(1);
  if (first == "--once" && count == 2) serve_once();
  if (first == "--version" && count == 2) {
    std::fwrite(stepcast::kVersion.data(), 1, stepcast::kVersion.size(), stdout);
    std::fputc('\n', stdout);
    return kDone;
  }
  if (first == "--help") {
    std::fwrite(kUsage.data(), 1, kUsage.size(), stdout);
    return kDone;
  }
  if (first != "--jobs" || count != 3) return bad_usage();
  const std::string_view text = arguments[2];
  int jobs = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
  if (error != std::errc{} || end != text.data() + text.size() || jobs < 1 || jobs > kMostJobs) return bad_usage();
  return serve(jobs);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stepcast-worker: %s\n", error.what());
    return stepcast::exit_code_of(error);
  }
}
