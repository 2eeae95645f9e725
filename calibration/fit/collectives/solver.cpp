#include "calibration/fit/collectives/solver.hpp"

#include <cmath>
#include <limits>

namespace stepcast::fit {

namespace {

// One standard deviation of a prior draws as a row that is 18 % off: many constants here rest on one system's rows.
constexpr PriorFitOptions kOptions{.drawn = 0.18, .step = 1e-4};

bool depends(const Point& point, const Constant& constant) {
  if (constant.key == "send_share") return !point.network.empty() && point.row.kind == CollectiveKind::send_recv;
  return constant.profile == point.link || constant.profile == point.network || constant.profile == "nccl";
}

/// The points that a fit may use, by setting.
std::vector<Setting> used_settings(const std::vector<Point>& points, const std::function<bool(const Point&)>& used) {
  std::vector<Setting> out;
  for (const Setting& setting : settings_of(points)) {
    Setting kept;
    for (const std::size_t i : setting.points)
      if (used(points[i])) kept.points.push_back(i);
    if (!kept.points.empty()) out.push_back(std::move(kept));
  }
  return out;
}

std::vector<PriorConstant> priors_of(const std::vector<Constant>& constants) {
  std::vector<PriorConstant> out;
  out.reserve(constants.size());
  for (const Constant& one : constants)
    out.push_back({one.profile + " " + one.key, one.prior, one.spread, 0, std::numeric_limits<double>::infinity()});
  return out;
}

}  // namespace

PriorFit solve(const std::vector<Constant>& constants, const std::vector<Point>& points, const Profiles& shipped,
               const std::function<bool(const Point&)>& used, const std::vector<std::vector<double>>& starts) {
  const std::vector<Setting> settings = used_settings(points, used);
  PriorFitRows rows;
  for (const Point& point : points) rows.weights.push_back(used(point) ? point.weight : 0);
  std::vector<double> times(points.size());
  rows.predict = [&](const std::vector<double>& values, int constant, double* residuals) {
    Profiles profiles = shipped;
    apply(constants, values, profiles);
    for (const Setting& setting : settings) {
      if (constant >= 0 && !depends(points[setting.points.front()], constants[static_cast<std::size_t>(constant)]))
        continue;
      predict(setting, points, profiles, times);
      for (const std::size_t i : setting.points) residuals[i] = std::log(times[i] / points[i].row.time_us);
    }
  };
  return fit_with_priors(priors_of(constants), rows, starts, kOptions);
}

}  // namespace stepcast::fit
