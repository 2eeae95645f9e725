#include <CLI/CLI.hpp>
#include <thread>

#include "calibration/collectives/collective_score.hpp"
#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/operators/operator_score.hpp"
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

/// Scores of sets of either kind.
struct Scores {
  std::vector<SetScore> runs;
  std::vector<CollectiveScore> collectives;
  std::vector<OperatorSetScore> operators;
};

void score_file(Scores& scores, const std::filesystem::path& file, const std::string& name,
                const ValidateOptions& options, Session& session) {
  const CsvTable table = read_csv(file);
  if (is_collective_table(table)) {
    scores.collectives.push_back(score_collectives(name, read_collectives(table, session.catalog())));
    return;
  }
  if (holds_operators(table)) {
    scores.operators.push_back(score_operators(read_operators(table, name), session.catalog()));
    return;
  }
  RunSet set = read_runs(table, name);
  const bool simulate = options.fidelity == name_of(Fidelity::simulated);
  scores.runs.push_back(score(set.name, simulate ? simulated(std::move(set.runs), jobs_of(options), session)
                                                 : in_closed_form(std::move(set.runs), session.catalog())));
}

std::vector<std::string> sets_of(const ValidateOptions& options) {
  if (!options.sets.empty()) return options.sets;
  std::vector<std::string> all = run_set_names();
  // No engine runs single operators, nor collectives of a table: they are the closed form's alone.
  if (options.fidelity == name_of(Fidelity::analytic)) {
    all.insert(all.end(), operator_set_names().begin(), operator_set_names().end());
    all.insert(all.end(), collective_set_names().begin(), collective_set_names().end());
  }
  return all;
}

void validate(const ValidateOptions& options, Session& session) {
  // Runs need parts of servers that nobody sells: behind the user's own entries, before the shipped ones.
  session.catalog_directories.push_back(run_catalog_directory());
  Scores scores;
  if (!options.file.empty()) {
    score_file(scores, options.file, std::filesystem::path(options.file).stem().string(), options, session);
  } else {
    for (const std::string& name : sets_of(options)) score_file(scores, run_set_file(name), name, options, session);
  }
  if (session.json) {
    Json out = validation_json(scores.runs);
    for (const CollectiveScore& set : scores.collectives) out["sets"].push_back(collective_validation_json(set));
    for (const OperatorSetScore& set : scores.operators) out["sets"].push_back(operator_json(set));
    session.print(out);
  } else {
    session.print((scores.runs.empty() ? "" : validation_text(scores.runs)) +
                  collective_validation_text(scores.collectives) +
                  (scores.operators.empty() ? "" : operator_report(scores.operators)));
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
