#include "calibration/validation/accuracy_figures.hpp"

#include <fmt/format.h>

#include "calibration/validation/statistics.hpp"

namespace stepcast {

namespace {

std::optional<double> in_percent(std::optional<double> share) {
  if (share) *share *= 100;
  return share;
}

}  // namespace

void set_errors(AccuracyFigures& out, const std::vector<double>& errors, const std::vector<double>& time_ratios) {
  out.mape = in_percent(mean(errors));
  out.median = in_percent(quantile(errors, 0.5));
  out.p90 = in_percent(quantile(errors, 0.9));
  out.max = in_percent(quantile(errors, 1));
  if (const std::optional<double> ratio = geometric_mean(time_ratios)) out.bias = in_percent(*ratio - 1);
}

Json json_figure(const std::optional<double>& value) {
  if (!value) return nullptr;
  return std::stod(fmt::format("{:.10g}", *value));
}

Json figures_json(const AccuracyFigures& figures) {
  Json regret = nullptr;
  if (figures.regret)
    regret = {{"mean_pct", json_figure(figures.regret->mean)}, {"worst_pct", json_figure(figures.regret->worst)}};
  Json out{{"rows", figures.rows},
           {"covered", figures.covered},
           {"mape_pct", json_figure(figures.mape)},
           {"median_ape_pct", json_figure(figures.median)},
           {"p90_ape_pct", json_figure(figures.p90)},
           {"max_ape_pct", json_figure(figures.max)},
           {"bias_pct", json_figure(figures.bias)},
           {"kendall_tau", json_figure(figures.kendall_tau)},
           {"kendall_tau_within", json_figure(figures.kendall_tau_within)},
           {"memory_mape_pct", json_figure(figures.memory_mape)},
           {"memory_max_ape_pct", json_figure(figures.memory_max)},
           {"regret", std::move(regret)}};
  if (figures.in_interval) out["in_interval_80_pct"] = json_figure(figures.in_interval);
  if (figures.scaling_rows > 0) {
    out["scaling_rows"] = figures.scaling_rows;
    out["scaling_mape_pct"] = json_figure(figures.scaling_mape);
    out["scaling_efficiency_points"] = json_figure(figures.scaling_efficiency_points);
    out["one_device_rows"] = figures.one_device_rows;
    out["one_device_mape_pct"] = json_figure(figures.one_device_mape);
  }
  return out;
}

std::string figure_text(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "–";
}

std::string signed_figure_text(const std::optional<double>& value) {
  return value ? fmt::format("{:+.1f}", *value) : "–";
}

}  // namespace stepcast
