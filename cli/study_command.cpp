#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/predictor.hpp"
#include "models/scenario/stated_batch.hpp"
#include "report/claim_study.hpp"

namespace stepcast {

namespace {

struct StudyOptions {
  std::string study;
  std::vector<std::string> overrides;
  int jobs = 0;
};

/// Faults of a variant are named after it; the others are predicted all the same, but nothing is printed.
Prediction take(PredictionOutcome& outcome, const std::string& where, Diagnostics& diagnostics) {
  if (outcome.prediction) return std::move(*outcome.prediction);
  for (const Fault& fault : outcome.faults) diagnostics.error(where + fault.pointer, fault.message, fault.suggestion);
  return {};
}

/// Applies a variant's changes, which stand in the study at `at`; a fault lies there, not where the change was to go.
void change(Json& scenario, const std::vector<std::string>& set, const std::string& at, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    Diagnostics own(diagnostics.file());
    apply_override(scenario, set[i], own);
    for (const Fault& fault : own.faults())
      diagnostics.error(fmt::format("{}/{}", at, i), fault.message, fault.suggestion);
  }
}

void study_variants(const StudyOptions& options, Session& session) {
  Diagnostics diagnostics(options.study);
  const Json document = read_json(options.study, diagnostics);
  diagnostics.throw_if_faulty();
  ClaimStudySpec spec = read_claim_study(document, diagnostics);
  diagnostics.throw_if_faulty();
  for (const std::string& assignment : options.overrides) apply_override(spec.scenario, assignment, diagnostics);
  std::vector<ScenarioDocument> scenarios{{options.study, spec.scenario}};
  for (std::size_t i = 0; i < spec.variants.size(); ++i) {
    scenarios.push_back({options.study, spec.scenario});
    change(scenarios.back().json, spec.variants[i].set, fmt::format("/variants/{}/set", i), diagnostics);
    keep_stated_batch(scenarios.back().json, spec.scenario);
  }
  diagnostics.throw_if_faulty();
  const int jobs = options.jobs > 0 ? options.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<PredictionOutcome> outcomes = predict_scenarios(session, scenarios, jobs);
  const Prediction baseline = take(outcomes.front(), "/scenario", diagnostics);
  std::vector<Prediction> variants;
  for (std::size_t i = 1; i < outcomes.size(); ++i)
    variants.push_back(take(outcomes[i], fmt::format("/variants/{}", i - 1), diagnostics));
  diagnostics.throw_if_faulty();
  const ClaimStudy result = study_claims(spec, baseline, variants);
  if (session.json) {
    session.print(to_json(result));
  } else {
    session.print(text_report(result));
  }
}

}  // namespace

void add_study(CLI::App& app, Session& session) {
  auto options = std::make_shared<StudyOptions>();
  CLI::App* study_app = app.add_subcommand(
      "study",
      "Changes to a scenario beside it: throughput, time, efficiency, cost, and what is claimed of such changes");
  study_app->add_option("study", options->study, "Study file: scenario, variants, claims")
      ->required()
      ->type_name("FILE");
  study_app->add_option("--set", options->overrides, "Override a value of the baseline scenario (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  study_app->add_option("--jobs", options->jobs, "Simulations at once; default: one a core")
      ->check(whole_number(1, 4096))
      ->type_name("N");
  study_app->callback([options, &session] { study_variants(*options, session); });
}

}  // namespace stepcast
