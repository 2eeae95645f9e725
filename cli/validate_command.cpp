#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "calibration/importers/text_file.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/observations.hpp"
#include "calibration/validation/recorded_accuracy.hpp"
#include "calibration/validation/report/accuracy_page.hpp"
#include "cli/calibration_option.hpp"
#include "cli/commands.hpp"
#include "cli/jobs_option.hpp"
#include "cli/output_files.hpp"
#include "cli/validation_run.hpp"
#include "fields/data_directory.hpp"
#include "hardware-catalog/catalog.hpp"
#include "hardware-catalog/operator_profile.hpp"

namespace stepcast {

namespace {

struct ValidateOptions {
  ValidationRequest request{{}, {}, std::string(name_of(Fidelity::analytic)), 0};
  bool regret = false, html = false, markdown = false;
  std::string record, check;
};

std::string text_of(const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  std::string out = read_description(file, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

std::vector<GrownError> shipped_grown_errors() {
  return read_grown_errors(data_directory("calibration/accuracy") / "grown-errors.csv");
}

std::string page(const ValidationScores& scores) {
  const Json observations = shipped_observations();
  const std::string observed = observed_set(observations);
  AccuracyNotes notes;
  for (const SetScore& set : scores.runs)
    if (set.name == observed) notes.observations = observe(observations, read_csv(run_set_file(observed)), set.runs);
  notes.grown_errors = shipped_grown_errors();
  const std::filesystem::path folder = data_directory("calibration/accuracy");
  notes.weak_points = text_of(folder / "weak-points.md");
  notes.collectives = text_of(folder / "collectives.md");
  const Catalog catalog = Catalog::standard({});
  for (const std::string& id : catalog.ids("operator-profiles"))
    notes.operators.push_back(catalog.find<OperatorProfile>(id));
  std::vector<OperatorSet> timed;
  // Times alone: power needs constants of its own, which three boards have.
  for (const OperatorSetScore& set : scores.operators)
    if (set.figure == "time") timed.push_back(read_operators(read_csv(run_set_file(set.name)), set.name));
  notes.left_out = left_out_operators(timed, catalog);
  return accuracy_page(scores, notes);
}

Json recorded(const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  Json out = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

void print_lines(Session& session, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) session.print(line + "\n");
}

/// Exit code 1 when a figure is worse than recorded.
void check_figures(const ValidationScores& scores, const std::string& file, Session& session) {
  const std::vector<std::string> worse = worse_than_recorded(scores, recorded(file));
  if (session.json)
    session.print(Json{{"worse", worse}});
  else
    print_lines(session, worse);
  if (!worse.empty()) session.exit_code = 1;
}

/// Writes the figures, unless one grew and nobody said why.
void record_figures(const ValidationScores& scores, const std::string& file, Session& session) {
  if (std::filesystem::exists(file)) {
    const std::vector<std::string> unexplained = unexplained_growth(scores, recorded(file), shipped_grown_errors());
    print_lines(session, unexplained);
    if (!unexplained.empty()) {
      session.print(std::string("nothing is recorded: say why in calibration/accuracy/grown-errors.csv\n"));
      session.exit_code = 1;
      return;
    }
  }
  write_file(file, recorded_form(scores).dump(2) + "\n");
}

void run_validate(const ValidateOptions& options, Session& session) {
  if (session.json && (options.html || options.markdown))
    throw InputError({{"--json", "", "there is one form of output", "leave out --json, --html or --markdown"}});
  keep_inputs({{"--record", options.record}}, {options.request.file}, session);
  const ValidationScores scores = validate(options.request, session);
  const RegretDetail detail = options.regret ? RegretDetail::groups : RegretDetail::figures;
  if (!options.check.empty()) return check_figures(scores, options.check, session);
  if (!options.record.empty()) return record_figures(scores, options.record, session);
  if (session.json) return session.print(validation_json(scores, detail));
  if (options.html) return session.print(validation_html(scores));
  if (options.markdown) return session.print(page(scores));
  session.print(validation_text(scores, detail));
}

}  // namespace

void add_validate(CLI::App& app, Session& session) {
  auto options = std::make_shared<ValidateOptions>();
  ValidationRequest& request = options->request;
  CLI::App* command =
      app.add_subcommand("validate", "Predict measured training runs and print how far off the predictions are");
  auto* set = command->add_option("--set", request.sets, "A shipped set (repeatable); default: every one")
                  ->type_name("NAME")
                  ->allow_extra_args(false);
  command->add_option("--file", request.file, "Runs of your own, in the columns of one of the shipped sets")
      ->type_name("CSV")
      ->excludes(set);
  command
      ->add_option("--fidelity", request.fidelity,
                   "analytic: closed form (default); simulated: step graph on the engine")
      ->check(CLI::IsMember(names_of<Fidelity>()));
  add_jobs_option(*command, request.jobs, "Predictions at a time");
  command->add_flag("--regret", options->regret, "Print every group in which configurations are ranked");
  auto* html =
      command->add_flag("--html", options->html, "Print one self-contained page that draws predicted against measured");
  auto* markdown =
      command->add_flag("--markdown", options->markdown, "Print the page docs/accuracy.md")->excludes(html);
  auto* record = command->add_option("--record", options->record, "Write the figures of the sets to a file")
                     ->type_name("FILE")
                     ->excludes(html, markdown);
  command->add_option("--check", options->check, "Exit with 1 if a figure is worse than such a file says")
      ->type_name("FILE")
      ->excludes(html, markdown, record);
  add_calibration_option(*command, session);
  command->callback([options, &session] { run_validate(*options, session); });
}

}  // namespace stepcast
