#include "calibration/validation/operators/operator_score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "calibration/validation/score.hpp"
#include "calibration/validation/statistics.hpp"
#include "report/humane.hpp"

namespace stepcast {
namespace {

/// A product counts for power when it lasts long enough for a sensor to see it and not the gaps between products: the
/// windows of the tables are 0.3 and 1 s, boards average over about 0.1 s, and launches of tens of microseconds leave
/// the multiprocessors idle for a good part of the window.
constexpr double kShortestSustained = 50e-6;

/// Measured and predicted of the rows that share a line of the report.
struct Sample {
  std::size_t rows = 0;
  int estimated = 0;
  std::vector<double> errors, ratios;
  void add(std::optional<double> predicted, double measured) {
    ++rows;
    if (!predicted) return;
    errors.push_back(absolute_error(*predicted, measured));
    ratios.push_back(*predicted / measured);
  }
};

AccuracyFigures figures(const Sample& sample) {
  AccuracyFigures out;
  out.rows = sample.rows;
  out.covered = sample.errors.size();
  set_errors(out, sample.errors, sample.ratios);
  return out;
}

std::optional<double> value(const std::optional<Seconds>& time) {
  return time ? std::optional(time->value()) : std::nullopt;
}
std::optional<double> value(const std::optional<Watts>& power) {
  return power ? std::optional(power->value()) : std::nullopt;
}

std::string line(const std::string& name, const std::string& what, const AccuracyFigures& e) {
  return fmt::format(
      "{}{}{}{}{}{}{}{}{}\n", pad_right(name, 34), pad_right(what, 20), pad_left(std::to_string(e.rows), 7),
      pad_left(std::to_string(e.covered), 9), pad_left(figure_text(e.mape), 8), pad_left(figure_text(e.median), 8),
      pad_left(figure_text(e.p90), 8), pad_left(figure_text(e.max), 8), pad_left(signed_figure_text(e.bias), 8));
}

std::optional<double> tau_of(const std::vector<OperatorPoint>& points) {
  std::vector<double> predicted, measured;
  for (const OperatorPoint& point : points) {
    predicted.push_back(point.predicted);
    measured.push_back(point.measured);
  }
  return kendall_tau(predicted, measured);
}

}  // namespace

OperatorSetScore score_operators(const OperatorSet& set, const Catalog& catalog) {
  OperatorSetScore out;
  out.name = set.name;
  std::map<std::tuple<std::string, std::string, std::string>, Sample> groups;
  Sample times, powers;
  std::vector<OperatorPoint> time_points, power_points;
  const bool measures_power = std::any_of(set.operators.begin(), set.operators.end(),
                                          [](const MeasuredOperator& one) { return one.power.has_value(); });
  const auto add = [](Sample& sample, std::vector<OperatorPoint>& points, const MeasuredOperator& one,
                      std::optional<double> predicted, double measured) {
    sample.add(predicted, measured);
    if (predicted) points.push_back({one.line, one.accelerator, *predicted, measured});
  };
  OperatorMachines machines(catalog);
  for (const MeasuredOperator& one : set.operators) {
    const OperatorPrediction prediction = machines.predict(one);
    if (!prediction.time) ++out.reasons[prediction.reason];
    if (!prediction.estimate.empty()) ++out.estimates[prediction.estimate];
    Sample& group = groups[{one.accelerator, one.format, "time"}];
    group.add(value(prediction.time), one.measured.value());
    if (!prediction.estimate.empty()) ++group.estimated;
    add(times, time_points, one, value(prediction.time), one.measured.value());
    if (!one.power) continue;
    groups[{one.accelerator, one.format, "power"}].add(value(prediction.power), one.power->value());
    if (one.measured.value() < kShortestSustained) {
      ++out.reasons["its power: shorter than a board's sensor can tell from the gaps between launches"];
      continue;
    }
    if (one.power_doubtful) {
      ++out.reasons["its power: of products this deep, doubted since it was measured again"];
      groups[{one.accelerator, one.format, "power, doubted"}].add(value(prediction.power), one.power->value());
      continue;
    }
    groups[{one.accelerator, one.format, "power, sustained"}].add(value(prediction.power), one.power->value());
    add(powers, power_points, one, value(prediction.power), one.power->value());
  }
  out.figure = measures_power ? "power, sustained" : "time";
  out.errors = figures(measures_power ? powers : times);
  out.errors.rows = set.operators.size();
  out.errors.kendall_tau = tau_of(time_points);
  out.points = measures_power ? std::move(power_points) : std::move(time_points);
  for (const auto& [key, sample] : groups)
    out.groups.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), figures(sample), sample.estimated});
  return out;
}

std::vector<OperatorPoint> worst_of(const OperatorSetScore& score) {
  std::vector<OperatorPoint> out = score.points;
  std::stable_sort(out.begin(), out.end(), [](const OperatorPoint& a, const OperatorPoint& b) {
    return absolute_error(a.predicted, a.measured) > absolute_error(b.predicted, b.measured);
  });
  if (out.size() > kWorstRows) out.resize(kWorstRows);
  return out;
}

std::string operator_report(const std::vector<OperatorSetScore>& scores) {
  std::string out = "Errors of single operators in % of what was measured; bias > 0: predicted too slow\n\n";
  out += fmt::format("{}{}{}{}{}{}{}{}{}\n", pad_right("set, accelerator", 34), pad_right("format, figure", 20),
                     pad_left("rows", 7), pad_left("covered", 9), pad_left("mean", 8), pad_left("median", 8),
                     pad_left("p90", 8), pad_left("worst", 8), pad_left("bias", 8));
  for (const OperatorSetScore& score : scores) {
    out += line(score.name, score.figure, score.errors);
    for (const OperatorGroup& group : score.groups)
      out +=
          line("  " + group.accelerator,
               group.figure == "time" ? group.format : fmt::format("{} {}", group.format, group.figure), group.errors);
    for (const auto& [basis, rows] : score.estimates) out += fmt::format("  estimated, {} rows: {}\n", rows, basis);
    for (const auto& [reason, rows] : score.reasons) out += fmt::format("  not covered, {} rows: {}\n", rows, reason);
  }
  return out;
}

Json operator_json(const OperatorSetScore& score) {
  Json out{{"name", score.name}};
  out.update(figures_json(score.errors));
  out["figure"] = score.figure;
  out["not_covered"] = Json::array();
  for (const auto& [reason, rows] : score.reasons) out["not_covered"].push_back({{"reason", reason}, {"rows", rows}});
  out["estimated"] = Json::array();
  for (const auto& [basis, rows] : score.estimates) out["estimated"].push_back({{"basis", basis}, {"rows", rows}});
  out["worst"] = Json::array();
  for (const OperatorPoint& worst : worst_of(score))
    out["worst"].push_back({{"id", worst.accelerator},
                            {"line", worst.line},
                            {"metric", score.figure == "time" ? "time_s" : "power_W"},
                            {"predicted", json_figure(worst.predicted)},
                            {"measured", worst.measured},
                            {"error_pct", json_figure(100 * absolute_error(worst.predicted, worst.measured))}});
  out["groups"] = Json::array();
  for (const OperatorGroup& group : score.groups) {
    Json one{{"accelerator", group.accelerator},
             {"format", group.format},
             {"figure", group.figure},
             {"estimated", group.estimated}};
    one.update(figures_json(group.errors));
    out["groups"].push_back(std::move(one));
  }
  return out;
}

}  // namespace stepcast
