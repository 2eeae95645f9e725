#pragma once

namespace stepcast {

/// The whole program: parses the command line, runs the subcommand, turns faults into one line each on standard error.
/// Returns the exit code: 0 done, 1 a check failed, 2 bad input, 3 environment missing, 4 internal error.
int run_command_line(int argc, const char* const* argv);

}  // namespace stepcast
