#include "cli/jobs_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

#include "cli/number_option.hpp"

namespace stepcast {

void add_jobs_option(CLI::App& command, int& jobs, const char* what) {
  command.add_option("--jobs", jobs, fmt::format("{}; default: one a processor", what))
      ->check(whole_number(1, kMostJobs))
      ->type_name("N");
}

int jobs_or_processors(int asked) {
  return asked > 0 ? asked : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace stepcast
