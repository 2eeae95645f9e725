#include <CLI/CLI.hpp>

#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/validation_report.hpp"
#include "cli/commands.hpp"

namespace stepcast {

namespace {

struct ValidateOptions {
  std::vector<std::string> sets;
  std::string file;
};

/// Runs need parts of servers that nobody sells; they come before the shipped entries, behind the user's own.
Catalog catalog_of_runs(const Session& session) {
  std::vector<std::filesystem::path> directories = session.catalog_directories;
  directories.push_back(run_catalog_directory());
  return Catalog::standard(directories);
}

SetScore score_file(const std::filesystem::path& file, const std::string& name, const Catalog& catalog) {
  RunSet set = read_runs(read_csv(file), name);
  std::vector<PredictedRun> predicted;
  predicted.reserve(set.runs.size());
  for (MeasuredRun& run : set.runs) predicted.push_back(predict_run(std::move(run), catalog));
  return score(set.name, std::move(predicted));
}

void validate(const ValidateOptions& options, Session& session) {
  const Catalog catalog = catalog_of_runs(session);
  std::vector<SetScore> scores;
  if (!options.file.empty()) {
    scores.push_back(score_file(options.file, std::filesystem::path(options.file).stem().string(), catalog));
  } else {
    for (const std::string& name : options.sets.empty() ? run_set_names() : options.sets)
      scores.push_back(score_file(run_set_file(name), name, catalog));
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
  command->callback([options, &session] { validate(*options, session); });
}

}  // namespace stepcast
