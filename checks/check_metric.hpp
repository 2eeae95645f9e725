#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/prediction.hpp"

namespace stepcast {

enum class WorseWhen { higher, lower };

/// A figure that a check compares; named as in the JSON report.
struct CheckMetric {
  std::string_view name;
  WorseWhen worse;
  /// A change for the worse fails a check against a baseline without being asked to. Others are shown.
  bool gates_baseline;
  /// The same for measured results, which the forecast's own interval bounds.
  bool gates_measured;
  std::optional<double> (*read)(const Prediction&);
};

const std::vector<CheckMetric>& check_metrics();
/// Null when there is none of this name.
const CheckMetric* find_check_metric(std::string_view name);
std::vector<std::string> check_metric_names();

}  // namespace stepcast
