#include "calibration/validation/mlperf/convergence_points.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "fields/data_directory.hpp"

namespace stepcast {

ConvergencePoints::ConvergencePoints(const CsvTable& table) {
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    points_.push_back(
        {row.text("benchmark"), row.required_number("global_batch"), row.required_number("samples_to_target")});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return std::tie(a.benchmark, a.batch) < std::tie(b.benchmark, b.batch);
  });
}

const ConvergencePoints& ConvergencePoints::shipped() {
  static const ConvergencePoints kPoints(read_csv(data_directory("calibration/data") / "mlperf-convergence.csv"));
  return kPoints;
}

bool ConvergencePoints::has(const std::string& benchmark) const {
  return std::any_of(points_.begin(), points_.end(), [&](const Point& one) { return one.benchmark == benchmark; });
}

std::optional<double> ConvergencePoints::samples(const std::string& benchmark, double global_batch) const {
  const Point* below = nullptr;
  for (const Point& point : points_) {
    if (point.benchmark != benchmark) continue;
    if (point.batch >= global_batch) {
      if (below == nullptr) return point.samples;
      return std::lerp(below->samples, point.samples, (global_batch - below->batch) / (point.batch - below->batch));
    }
    below = &point;
  }
  return std::nullopt;
}

}  // namespace stepcast
