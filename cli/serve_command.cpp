#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include "cli/commands.hpp"
#include "cli/jobs_option.hpp"
#include "cli/number_option.hpp"
#include "sim/protocol/worker_client.hpp"

namespace stepcast {

namespace {

/// The worker takes this process's place: it is the server, with the same standard streams.
[[noreturn]] void become_worker(int jobs) {
  const std::string worker = find_worker().string(), count = std::to_string(jobs);
  ::execl(worker.c_str(), "stepcast-worker", "--jobs", count.c_str(), static_cast<char*>(nullptr));
  throw EnvironmentError(fmt::format("cannot start {}: {}", worker, std::strerror(errno)));
}

}  // namespace

void add_serve(CLI::App& app, Session& session) {
  auto jobs = std::make_shared<int>(1);
  auto stdio = std::make_shared<bool>(false);
  CLI::App* serve = app.add_subcommand(
      "serve", "Answer predictions to a script or notebook: a JSON request a line in, a JSON reply a line out");
  serve
      ->add_flag("--stdio", *stdio,
                 "Over standard input and output, the one way there is: nothing listens on a network")
      ->required();
  serve->add_option("--jobs", *jobs, "How many predictions run at once; default 1")
      ->check(whole_number(1, kMostJobs))
      ->type_name("N");
  serve->callback([jobs, stdio, &session] {
    if (!session.catalog_directories.empty())
      throw InputError(
          {{"stepcast", "--catalog", "not taken by serve", "name directories in each request's \"catalog\""}});
    become_worker(*jobs);
  });
}

}  // namespace stepcast
