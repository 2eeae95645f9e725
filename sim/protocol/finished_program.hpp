#pragma once

#include <string>
#include <vector>

namespace stepcast {

/// What a program left behind.
struct FinishedProgram {
  int code = 0;  ///< exit code, or 128 + signal
  std::string out, err;
};

/// Runs a program found along PATH with exactly these arguments (no shell reads them) and waits for it. Throws
/// EnvironmentError when it cannot be started.
FinishedProgram run_program(const std::vector<std::string>& arguments);

}  // namespace stepcast
