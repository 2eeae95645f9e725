#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/validation/measured_run.hpp"
#include "hardware-catalog/catalog.hpp"
#include "report/prediction.hpp"

namespace stepcast {

/// What Stepcast says about a measured run, or why it says nothing.
struct PredictedRun {
  MeasuredRun run;
  std::optional<double> predicted;                    ///< in the unit of the run's metric
  Seconds step_time;                                  ///< predicted, whatever the metric
  ExpectedError expected_error;                       ///< of the step time
  std::optional<Bytes> memory;                        ///< peak as the run's source counts it
  std::vector<std::pair<std::string, double>> parts;  ///< shares of the step (0–1), largest first
  std::string reason;                                 ///< when there is no prediction

  [[nodiscard]] bool covered() const { return predicted.has_value(); }
  /// Predicted over measured time of the step, whichever way round the metric is.
  [[nodiscard]] double time_ratio() const;
  [[nodiscard]] double error() const;      ///< |predicted / measured − 1| of the metric
  [[nodiscard]] bool in_interval() const;  ///< whether the measured time lies in the prediction's 80 % interval
  [[nodiscard]] Seconds measured_step_time() const;
};

/// Predicts a run in closed form, by the path that a scenario file takes. A scenario that is refused is a reason, not
/// an error.
PredictedRun predict_run(MeasuredRun run, const Catalog& catalog);

/// Predicts many, `jobs` at a time. The result does not depend on `jobs`.
std::vector<PredictedRun> predict_runs(std::vector<MeasuredRun> runs, const Catalog& catalog, int jobs);

/// The same from a prediction that was made elsewhere (by simulation) of this run's scenario; the catalogue is for what
/// a run evaluates beside its steps.
PredictedRun predicted_run(MeasuredRun run, const Prediction& prediction, const Catalog& catalog);
/// A run without a prediction, with the faults why; none: its own refusal.
PredictedRun unpredicted_run(MeasuredRun run, const std::vector<Fault>& faults);

/// Folder of the catalogue entries that measured runs need beside the shipped ones: parts of servers.
std::filesystem::path run_catalog_directory();

}  // namespace stepcast
