#include "calibration/validation/operators/operator_score.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tuple>

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
  std::vector<double> errors, ratios;
  void add(std::optional<double> predicted, double measured) {
    ++rows;
    if (!predicted) return;
    errors.push_back(absolute_error(*predicted, measured));
    ratios.push_back(*predicted / measured);
  }
};

std::optional<double> percent(std::optional<double> share) {
  if (share) *share *= 100;
  return share;
}

OperatorErrors figures(const Sample& sample) {
  OperatorErrors out;
  out.rows = sample.rows;
  out.covered = sample.errors.size();
  out.mape = percent(mean(sample.errors));
  out.median = percent(quantile(sample.errors, 0.5));
  out.p90 = percent(quantile(sample.errors, 0.9));
  out.max = percent(quantile(sample.errors, 1));
  if (const std::optional<double> ratio = geometric_mean(sample.ratios)) out.bias = percent(*ratio - 1);
  return out;
}

std::optional<double> value(const std::optional<Seconds>& time) {
  return time ? std::optional(time->value()) : std::nullopt;
}
std::optional<double> value(const std::optional<Watts>& power) {
  return power ? std::optional(power->value()) : std::nullopt;
}

std::string figure(const std::optional<double>& number, bool sign = false) {
  if (!number) return "–";
  return sign ? fmt::format("{:+.1f}", *number) : fmt::format("{:.1f}", *number);
}

std::string line(const std::string& name, const std::string& what, const OperatorErrors& e) {
  return fmt::format("{}{}{}{}{}{}{}{}{}\n", pad_right(name, 34), pad_right(what, 20),
                     pad_left(std::to_string(e.rows), 7), pad_left(std::to_string(e.covered), 9),
                     pad_left(figure(e.mape), 8), pad_left(figure(e.median), 8), pad_left(figure(e.p90), 8),
                     pad_left(figure(e.max), 8), pad_left(figure(e.bias, true), 8));
}

Json json_figure(const std::optional<double>& number) {
  if (!number) return nullptr;
  return std::stod(fmt::format("{:.10g}", *number));
}

Json figures_json(const OperatorErrors& e) {
  return {{"rows", e.rows},
          {"covered", e.covered},
          {"mape_pct", json_figure(e.mape)},
          {"median_ape_pct", json_figure(e.median)},
          {"p90_ape_pct", json_figure(e.p90)},
          {"max_ape_pct", json_figure(e.max)},
          {"bias_pct", json_figure(e.bias)}};
}

}  // namespace

OperatorSetScore score_operators(const OperatorSet& set, const Catalog& catalog) {
  OperatorSetScore out;
  out.name = set.name;
  std::map<std::tuple<std::string, std::string, std::string>, Sample> groups;
  Sample times, powers;
  std::vector<double> predicted, measured;
  bool measures_power = false;
  for (const MeasuredOperator& one : set.operators) {
    const OperatorPrediction prediction = predict_operator(one, catalog);
    if (!prediction.time) ++out.reasons[prediction.reason];
    groups[{one.accelerator, one.format, "time"}].add(value(prediction.time), one.measured.value());
    times.add(value(prediction.time), one.measured.value());
    if (prediction.time) {
      predicted.push_back(prediction.time->value());
      measured.push_back(one.measured.value());
    }
    if (!one.power) continue;
    measures_power = true;
    groups[{one.accelerator, one.format, "power"}].add(value(prediction.power), one.power->value());
    if (one.measured.value() < kShortestSustained) continue;
    groups[{one.accelerator, one.format, "power, sustained"}].add(value(prediction.power), one.power->value());
    powers.add(value(prediction.power), one.power->value());
  }
  out.figure = measures_power ? "power, sustained" : "time";
  out.errors = figures(measures_power ? powers : times);
  out.kendall_tau = kendall_tau(predicted, measured);
  for (const auto& [key, sample] : groups)
    out.groups.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), figures(sample)});
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
    for (const auto& [reason, rows] : score.reasons) out += fmt::format("  not covered, {} rows: {}\n", rows, reason);
  }
  return out;
}

Json operator_json(const OperatorSetScore& score) {
  Json out{{"name", score.name}};
  out.update(figures_json(score.errors));
  out["kendall_tau"] = json_figure(score.kendall_tau);
  for (const char* none : {"kendall_tau_within", "memory_mape_pct", "memory_max_ape_pct", "regret"})
    out[none] = nullptr;
  out["figure"] = score.figure;
  out["not_covered"] = Json::array();
  for (const auto& [reason, rows] : score.reasons) out["not_covered"].push_back({{"reason", reason}, {"rows", rows}});
  out["groups"] = Json::array();
  for (const OperatorGroup& group : score.groups) {
    Json one{{"accelerator", group.accelerator}, {"format", group.format}, {"figure", group.figure}};
    one.update(figures_json(group.errors));
    out["groups"].push_back(std::move(one));
  }
  return out;
}

}  // namespace stepcast
