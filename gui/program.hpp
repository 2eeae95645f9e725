#pragma once

namespace stepcast {

/// The whole desktop program: options, window, event loop. Exit codes as of the command line.
int run_gui(int argc, char** argv);

}  // namespace stepcast
