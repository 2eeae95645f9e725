#include <CLI/CLI.hpp>
#include <thread>

#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/unstated.hpp"
#include "calibration/validation/validation_report.hpp"
#include "cli/commands.hpp"
#include "cli/predictor.hpp"

namespace stepcast {

namespace {

struct ValidateOptions {
  std::vector<std::string> sets;
  std::string file;
  std::string fidelity{name_of(Fidelity::analytic)};
  int jobs = 0;
};

int jobs_of(const ValidateOptions& options) {
  return options.jobs > 0 ? options.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

/// Simulates the scenarios of runs; the closed form has chosen what a source leaves out.
std::vector<PredictedRun> simulated(std::vector<MeasuredRun> runs, int jobs, Session& session) {
  std::vector<ScenarioDocument> documents;
  for (MeasuredRun& run : runs) {
    if (run.scenario.is_null()) continue;
    if (run.micro_batch_unstated) settle_micro_batch(run, session.catalog());
    documents.push_back({run.id, run.scenario});
    documents.back().json["run"]["fidelity"] = name_of(Fidelity::simulated);
  }
  const std::vector<PredictionOutcome> outcomes = predict_scenarios(session, documents, jobs);
  std::vector<PredictedRun> out;
  auto outcome = outcomes.begin();
  for (MeasuredRun& run : runs) {
    if (run.scenario.is_null()) {
      out.push_back(unpredicted_run(std::move(run), {}));
      continue;
    }
    out.push_back(outcome->prediction ? predicted_run(std::move(run), *outcome->prediction, session.catalog())
                                      : unpredicted_run(std::move(run), outcome->faults));
    ++outcome;
  }
  return out;
}

std::vector<PredictedRun> in_closed_form(std::vector<MeasuredRun> runs, const Catalog& catalog) {
  std::vector<PredictedRun> out;
  out.reserve(runs.size());
  for (MeasuredRun& run : runs) out.push_back(predict_run(std::move(run), catalog));
  return out;
}

SetScore score_file(const std::filesystem::path& file, const std::string& name, const ValidateOptions& options,
                    Session& session) {
  RunSet set = read_runs(read_csv(file), name);
  const bool simulate = options.fidelity == name_of(Fidelity::simulated);
  return score(set.name, simulate ? simulated(std::move(set.runs), jobs_of(options), session)
                                  : in_closed_form(std::move(set.runs), session.catalog()));
}

void validate(const ValidateOptions& options, Session& session) {
  // Runs need parts of servers that nobody sells: behind the user's own entries, before the shipped ones.
  session.catalog_directories.push_back(run_catalog_directory());
  std::vector<SetScore> scores;
  if (!options.file.empty()) {
    scores.push_back(score_file(options.file, std::filesystem::path(options.file).stem().string(), options, session));
  } else {
    for (const std::string& name : options.sets.empty() ? run_set_names() : options.sets)
      scores.push_back(score_file(run_set_file(name), name, options, session));
  }
  if (session.json) {
    session.print(validation_json(scores));
  } else {
    session.print(validation_text(scores));
  }
}

}  // namespace

void add_validate(CLI::App& app, Session& session) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* command =
      app.add_subcommand("validate", "Predict measured training runs and print how far off the predictions are");
  auto* set = command->add_option("--set", options->sets, "A shipped set of runs (repeatable); default: every one")
                  ->type_name("NAME")
                  ->allow_extra_args(false);
  command->add_option("--file", options->file, "Runs of your own, in the columns of one of the shipped sets")
      ->type_name("CSV")
      ->excludes(set);
  command
      ->add_option("--fidelity", options->fidelity,
                   "analytic: closed form (default); simulated: step graph on the engine")
      ->check(CLI::IsMember(names_of<Fidelity>()));
  command->add_option("--jobs", options->jobs, "Simulations at a time; default: one a processor")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->callback([options, &session] { validate(*options, session); });
}

}  // namespace stepcast
