#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "cli/calibration_option.hpp"
#include "cli/commands.hpp"
#include "cli/jobs_option.hpp"
#include "cli/number_option.hpp"
#include "cli/output_files.hpp"
#include "cli/stop_signals.hpp"
#include "planner/write_plan.hpp"

namespace stepcast {

namespace {

constexpr int kMostTop = 1000;
struct PlanCommandOptions {
  std::string question;
  std::vector<std::string> overrides;
  int top = 5;
  int jobs = 0;
  std::string fidelity{name_of(Fidelity::simulated)};
  std::string folder;
};

/// One line on a terminal that is written over; nothing where nobody watches.
void show(const PlanProgress& progress) {
  const char* what = progress.stage == PlanProgress::Stage::searching ? "searching" : "simulating";
  std::fputs(
      fmt::format("\r\033[K{} {} of {} · {} options", what, progress.done, progress.all, progress.evaluated).c_str(),
      stderr);
}

void answer(const PlanCommandOptions& options, Session& session) {
  if (!options.folder.empty()) {
    const std::filesystem::path folder = options.folder;
    keep_inputs({{"--output", (folder / "plan.json").string()}, {"--output", (folder / "plan.txt").string()}},
                {options.question}, session);
  }
  const PlanQuestion question = load_plan_question(options.question, options.overrides, session.catalog());
  const StopSignals signals;
  PlanOptions plan_options;
  plan_options.stop = signals.token();
  plan_options.top = static_cast<std::size_t>(options.top);
  plan_options.jobs = jobs_or_processors(options.jobs);
  plan_options.fidelity = *parse_enum<Fidelity>(options.fidelity);
  plan_options.catalog_directories = session.catalog_directories;
  const bool watched = isatty(STDERR_FILENO) != 0;
  if (watched) plan_options.progress = show;
  const PlanAnswer answer = plan(question, session.catalog(), plan_options);
  if (watched) std::fputs("\r\033[K", stderr);
  if (!options.folder.empty()) write_plan(answer, session.catalog(), options.folder);
  if (session.json) {
    session.print(plan_json(answer));
  } else {
    session.print(plan_text(answer));
  }
  if (answer.stopped) session.exit_code = signals.exit_code();
}

}  // namespace

void add_plan(CLI::App& app, Session& session) {
  auto options = std::make_shared<PlanCommandOptions>();
  CLI::App* plan_app = app.add_subcommand(
      "plan", "Search servers, sizes and strategies for what a question asks, within its limits, and rank the best");
  plan_app->add_option("question", options->question, "Question file (docs/formats/plan-question.md)")
      ->required()
      ->type_name("FILE");
  plan_app->add_option("--set", options->overrides, "Override a value of the question (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  plan_app->add_option("--top", options->top, "How many options to show; default 5")
      ->check(whole_number(1, kMostTop))
      ->type_name("N");
  plan_app
      ->add_option("--fidelity", options->fidelity,
                   "simulated: the best are simulated and ranked by that (default); analytic: closed form alone")
      ->check(CLI::IsMember(names_of<Fidelity>()));
  add_jobs_option(*plan_app, options->jobs, "Threads, and simulations at a time");
  plan_app
      ->add_option("-o,--output", options->folder,
                   "Write scenario, launch configuration and bill of materials of every option here")
      ->type_name("DIR");
  add_calibration_option(*plan_app, session);
  plan_app->callback([options, &session] { answer(*options, session); });
}

}  // namespace stepcast
