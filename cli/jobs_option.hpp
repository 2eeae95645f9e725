#pragma once

namespace CLI {
class App;
}

namespace stepcast {

/// Most processes or threads that `--jobs` takes.
inline constexpr int kMostJobs = 4096;

/// `--jobs N`: how many at a time. `what` says of what: "Simulations at a time".
void add_jobs_option(CLI::App& command, int& jobs, const char* what);

/// What was asked for, or one a processor where nothing was (0).
int jobs_or_processors(int asked);

}  // namespace stepcast
