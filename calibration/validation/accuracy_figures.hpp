#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// How much slower the configuration that the model ranks first measured than the best measured one, in per cent, over
/// groups of configurations.
struct Regret {
  double mean = 0, worst = 0;
};

/// How well rows are predicted, in per cent of what was measured; null where a figure does not apply. The same of
/// training runs, operators and collectives.
struct AccuracyFigures {
  std::size_t rows = 0, covered = 0;
  std::optional<double> mape, median, p90, max;
  std::optional<double> bias;         ///< geometric mean of predicted over measured time, less one: above 0 is too slow
  std::optional<double> in_interval;  ///< of the covered rows, in %: measured within their own 80 % interval
  std::optional<double> kendall_tau;
  std::optional<double> kendall_tau_within;  ///< mean over groups of equal model, batch and number of GPUs
  std::optional<double> memory_mape, memory_max;
  std::optional<Regret> regret;
  std::size_t scaling_rows = 0, one_device_rows = 0;
  std::optional<double> scaling_mape;  ///< of the gain over a group's smallest number of devices (scaling.hpp)
  std::optional<double> scaling_efficiency_points;  ///< of the scaling efficiency, in points
  std::optional<double> one_device_mape;            ///< of the rows on one device, in sets that have scaling groups
};

/// Fills in the errors and the bias: errors are shares, ratios are of times.
void set_errors(AccuracyFigures& out, const std::vector<double>& errors, const std::vector<double>& time_ratios);

/// Figures of ten significant digits, so that the same rows give the same bytes; null stays null.
Json json_figure(const std::optional<double>& value);
/// Under the names that scripts rely on (docs/guide/validate.md).
Json figures_json(const AccuracyFigures& figures);

/// "12.3", or "–" for what does not apply.
std::string figure_text(const std::optional<double>& value, int digits = 1);
/// "+12.3" or "−…" with a sign.
std::string signed_figure_text(const std::optional<double>& value);

}  // namespace stepcast
