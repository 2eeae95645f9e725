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

std::string framework_of(const TrainingPoint& point) { return point.framework->id; }
std::string pair_of(const TrainingPoint& point) { return point.framework->id + " " + point.accelerator; }

}  // namespace

void write_prediction_errors(const std::vector<TrainingPoint>& points, const LeftOutLogs& logs,
                             const std::string& source, const std::filesystem::path& tree) {
  PredictionErrors out;
  out.source = source;
  std::map<std::string, std::set<std::string>> accelerators;
  for (const TrainingPoint& point : points) {
    out.frameworks[framework_of(point)].runs[point.accelerator] += 1;
    accelerators[framework_of(point)].insert(point.accelerator);
  }
  std::vector<double> unseen;
  for (auto& [framework, errors] : out.frameworks) {
    for (const std::string& accelerator : accelerators[framework])
      errors.error_80[accelerator] = *error_80(points, logs.models, pair_of, framework + " " + accelerator);
    if (accelerators[framework].size() > 1)
      errors.other_accelerator = *error_80(points, logs.accelerators, framework_of, framework);
    unseen.push_back(*error_80(points, logs.frameworks, framework_of, framework));
  }
  out.other_framework = std::round(*mean(unseen) * 10) / 10;
  std::ofstream(tree / "models/frameworks/prediction-errors.json")
      << PredictionErrors::fields().write(out).dump(2) << "\n";
}

}  // namespace stepcast
