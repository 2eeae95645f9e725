#include "calibration/fit/training/errors_writer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <set>

#include "calibration/validation/statistics.hpp"
#include "models/frameworks/prediction_errors.hpp"

namespace stepcast {

namespace {

constexpr double kCovered = 0.8;

/// Error in per cent that the covered share of the points whose key is `name` stays below; null of none.
template <class KeyOf>
std::optional<double> error_80(const std::vector<TrainingPoint>& points, const std::vector<double>& logs, KeyOf key_of,
                               const std::string& name) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (key_of(points[i]) == name) errors.push_back(100 * std::expm1(std::abs(logs[i])));
  const std::optional<double> found = quantile(errors, kCovered);
  return found ? std::optional(std::round(*found * 10) / 10) : std::nullopt;
}

/// What other fits have written: frameworks that this one has no runs of keep their figures.
PredictionErrors shipped_errors(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  return read_prediction_errors(file);
}

std::string framework_of(const TrainingPoint& point) { return point.framework->id; }
std::string pair_of(const TrainingPoint& point) { return point.framework->id + " " + point.accelerator; }

}  // namespace

void write_prediction_errors(const std::vector<TrainingPoint>& points, const LeftOutLogs& logs,
                             const std::string& source, const std::filesystem::path& tree) {
  const auto file = tree / "models/frameworks/prediction-errors.json";
  PredictionErrors out = shipped_errors(file);
  std::map<std::string, std::set<std::string>> accelerators;
  for (const TrainingPoint& point : points) {
    if (accelerators[framework_of(point)].empty()) out.frameworks[framework_of(point)] = {};
    out.frameworks[framework_of(point)].runs[point.accelerator] += 1;
    accelerators[framework_of(point)].insert(point.accelerator);
  }
  for (const auto& [framework, parts] : accelerators) {
    FrameworkErrors& errors = out.frameworks[framework];
    for (const std::string& accelerator : parts)
      errors.error_80[accelerator] =
          *error_80(points, logs.models, pair_of, fmt::format("{} {}", framework, accelerator));
    if (parts.size() > 1) errors.other_accelerator = *error_80(points, logs.accelerators, framework_of, framework);
    errors.unfitted = *error_80(points, logs.frameworks, framework_of, framework);
  }
  std::vector<double> unfitted;
  for (const auto& [framework, errors] : out.frameworks) unfitted.push_back(errors.unfitted);
  out.other_framework = std::round(*mean(unfitted) * 10) / 10;
  out.source = source;
  std::ofstream(file) << PredictionErrors::fields().write(out).dump(2) << "\n";
}

}  // namespace stepcast
