#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/predictor.hpp"
#include "models/parallelism/job.hpp"
#include "report/goodput_study.hpp"
#include "report/run_parts.hpp"

namespace stepcast {

namespace {

struct GoodputOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  int jobs = 0;
};

/// The step is predicted as `stepcast run` does; how long the run would be without trouble comes with it. Of phases
/// that are interrupted differently those are studied in which most work is done.
void study(const GoodputOptions& options, Session& session) {
  const ScenarioDocument document = read_scenario(options.scenario, options.overrides);
  const Prediction prediction = predict_scenario(session, document, std::nullopt);
  const Scenario scenario = resolve(document.json, document.file, {}, session.catalog());
  const int workers =
      options.jobs > 0 ? options.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Job job = lower(scenario);
  const std::vector<RunPart> parts =
      run_parts(job, session.catalog(), run_phases(job, {prediction.step_time, prediction.device_average_power}),
                prediction.step_time);
  const GoodputStudy result = study_goodput(main_part(parts).risk, scenario.spec.run, workers);
  if (session.json) {
    session.print(to_json(result));
  } else {
    session.print(text_report(result));
  }
}

}  // namespace

void add_goodput(CLI::App& app, Session& session) {
  auto options = std::make_shared<GoodputOptions>();
  CLI::App* goodput_app = app.add_subcommand(
      "goodput", "Useful training over all time: by the interval between checkpoints and by the rate of failures");
  goodput_app->add_option("scenario", options->scenario, "Scenario file")->required()->type_name("FILE");
  goodput_app
      ->add_option("--set", options->overrides,
                   "Override a value of the scenario: run.reliability.spares=4 (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  goodput_app->add_option("--jobs", options->jobs, "Threads; default: one a core. The answer does not depend on it")
      ->check(whole_number(1, 4096))
      ->type_name("N");
  goodput_app->callback([options, &session] { study(*options, session); });
}

}  // namespace stepcast
