#pragma once

#include <string>
#include <vector>

namespace stepcast::probes {

struct Finished {
  int code = -1;       ///< exit code, or 128 + signal
  std::string output;  ///< standard output and standard error
};

/// Runs a program found in PATH, without a shell, and waits. Throws Fault (missing) when it cannot be started.
Finished run_program(const std::vector<std::string>& words);

}  // namespace stepcast::probes
