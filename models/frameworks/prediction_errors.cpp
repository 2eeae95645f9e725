#include "models/frameworks/prediction_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "fields/data_directory.hpp"
#include "models/scenario/node_kinds.hpp"

namespace stepcast {

namespace {

/// Runs from which the errors of a framework on an accelerator say something.
constexpr double kFewestRuns = 5;

/// Where neither the framework nor the accelerator was ever measured, errors of a new framework are taken twice: their
/// variances add, and a new accelerator's is taken as large. Estimated; nothing measures it.
constexpr double kNeither = 1.41;

/// |ln| of an error in per cent.
double share(double percent) { return std::log1p(percent / 100); }

bool was_measured(const std::string& accelerator, const PredictionErrors& errors) {
  return std::any_of(errors.frameworks.begin(), errors.frameworks.end(),
                     [&](const auto& entry) { return entry.second.runs.contains(accelerator); });
}

}  // namespace

const FieldTable<FrameworkErrors>& FrameworkErrors::fields() {
  using F = FrameworkErrors;
  static const FieldTable<F> table =
      FieldTable<F>("framework errors", "How far off predictions of a framework's runs were in cross-validation")
          .field("runs", &F::runs, "Measured runs by accelerator", {.required = true, .min = 0})
          .field("error_80_percent", &F::error_80,
                 "By accelerator: 80 % of runs were no further off, their model left out of the fit",
                 {.required = true, .min = 0})
          .field("other_accelerator_80_percent", &F::other_accelerator,
                 "The same with the accelerator left out; 0: runs are of one only", {.min = 0})
          .field("unfitted_80_percent", &F::unfitted, "The same with the framework left out", {.min = 0});
  return table;
}

const FieldTable<PredictionErrors>& PredictionErrors::fields() {
  using P = PredictionErrors;
  static const FieldTable<P> table =
      FieldTable<P>("prediction errors", "Errors of predictions in cross-validation")
          .field("frameworks", &P::frameworks, "By framework profile", {.required = true})
          .field("other_framework_80_percent", &P::other_framework, "With the framework left out of the fit",
                 {.required = true, .min = 0})
          .field("source", &P::source, "The fit that says so", {.required = true});
  return table;
}

PredictionErrors read_prediction_errors(const std::filesystem::path& file) {
  Diagnostics faults(file.string());
  const Json document = read_json(file, faults);
  faults.throw_if_faulty();
  auto out = read_document<PredictionErrors>(document, faults);
  faults.throw_if_faulty();
  return out;
}

const PredictionErrors& prediction_errors() {
  static const PredictionErrors kErrors =
      read_prediction_errors(data_directory("models/frameworks") / "prediction-errors.json");
  return kErrors;
}

namespace {

/// On the scenario's own kind of node.
ExpectedError error_of_own_kind(const Scenario& scenario, const PredictionErrors& errors) {
  const std::string accelerator = scenario.accelerator != nullptr ? scenario.accelerator->id : "";
  const std::string& framework = scenario.framework->id;
  const auto known = errors.frameworks.find(framework);
  const bool measured = was_measured(accelerator, errors);
  if (known != errors.frameworks.end()) {
    const FrameworkErrors& own = known->second;
    const auto runs = own.runs.find(accelerator);
    if (runs != own.runs.end() && runs->second >= kFewestRuns)
      return {EvidenceGrade::together, share(own.error_80.at(accelerator)),
              fmt::format("{} measured runs of {} on {}", runs->second, framework, accelerator)};
    const double other = own.other_accelerator > 0 ? own.other_accelerator : errors.other_framework;
    if (measured)
      return {EvidenceGrade::apart, share(other),
              fmt::format("{} measured on other accelerators, {} with other frameworks", framework, accelerator)};
    return {EvidenceGrade::one, share(errors.other_framework),
            fmt::format("runs of {}, none on this hardware", framework)};
  }
  if (measured)
    return {EvidenceGrade::one, share(errors.other_framework),
            fmt::format("runs on {}, none of {}", accelerator, framework)};
  return {EvidenceGrade::none, kNeither * share(errors.other_framework),
          fmt::format("no measured run of {}, none on this hardware", framework)};
}

}  // namespace

ExpectedError expected_error(const Scenario& scenario, const PredictionErrors& errors) {
  std::optional<ExpectedError> worst;
  for (const NodeKind& kind : node_kinds(scenario)) {
    ExpectedError error = error_of_own_kind(*kind.scenario, errors);
    if (!worst || error.share_80 > worst->share_80) worst = std::move(error);
  }
  return std::move(*worst);
}

}  // namespace stepcast
