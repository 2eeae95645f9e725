#include <CLI/CLI.hpp>
#include <memory>

#include "cli/detailed_prediction.hpp"
#include "cli/explain_commands.hpp"
#include "explain/explanation.hpp"

namespace stepcast {

namespace {

struct ExplainOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  std::string fidelity;
};

void explain_scenario(const ExplainOptions& options, Session& session) {
  std::vector<std::string> overrides = options.overrides;
  add_option_override(overrides, "--fidelity", "run.fidelity", options.fidelity);
  const ScenarioDocument document = read_scenario(options.scenario, overrides);
  const DetailedPrediction predicted = predict_in_detail(session, document);
  const Explanation explanation =
      explain(document.json, document.file, predicted.prediction, predicted.detail, session.catalog());
  if (session.json) return session.print(to_json(explanation));
  session.print(text_report(explanation));
}

}  // namespace

void add_explain(CLI::App& app, Session& session) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* explain_app = app.add_subcommand(
      "explain", "Say what bounds a step: critical path, and what better hardware or other settings would bring");
  explain_app->add_option("scenario", options->scenario, "Scenario file")->required()->type_name("FILE");
  explain_app->add_option("--set", options->overrides, "Override a value of the scenario (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  explain_app->add_option("--fidelity", options->fidelity, "Of the critical path: simulated or analytic")
      ->check(CLI::IsMember(names_of<Fidelity>()));
  explain_app->callback([options, &session] { explain_scenario(*options, session); });
}

}  // namespace stepcast
