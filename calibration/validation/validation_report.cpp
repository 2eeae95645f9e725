#include "calibration/validation/validation_report.hpp"

#include <fmt/format.h>

#include "report/humane.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kPartsShown = 3;

std::string figure(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "–";
}

std::string signed_figure(const std::optional<double>& value) { return value ? fmt::format("{:+.1f}", *value) : "–"; }

std::string table_line(const std::vector<std::string>& cells) {
  constexpr int kNameColumns = 26, kFigureColumns = 9;
  std::string out = pad_right(cells.front(), kNameColumns);
  for (std::size_t i = 1; i < cells.size(); ++i) out += pad_left(cells[i], kFigureColumns);
  return out + "\n";
}

std::string table(const std::vector<SetScore>& sets) {
  std::string out = "Errors in % of what was measured; bias > 0: predicted too slow\n\n" +
                    table_line({"set", "rows", "covered", "mean", "median", "p90", "worst", "bias", "tau", "within"});
  for (const SetScore& set : sets)
    out += table_line({set.name, std::to_string(set.rows), std::to_string(set.covered), figure(set.mape, 1),
                       figure(set.median, 1), figure(set.p90, 1), figure(set.max, 1), signed_figure(set.bias),
                       figure(set.kendall_tau, 3), figure(set.kendall_tau_within, 3)});
  return out;
}

std::string value_text(double value, Metric metric) {
  return metric == Metric::step_time ? humane(Seconds(value)) : humane_count(value) + " tok/s";
}

std::string worst_line(const PredictedRun& run) {
  std::string parts;
  for (std::size_t i = 0; i < std::min(kPartsShown, run.parts.size()); ++i)
    parts += fmt::format("{}{} {:.0f} %", parts.empty() ? "" : ", ", run.parts[i].first, 100 * run.parts[i].second);
  return fmt::format("  {} {} {} {}  {}\n", pad_right(run.run.id, 34),
                     pad_left(value_text(*run.predicted, run.run.metric), 14),
                     pad_left(value_text(run.run.measured, run.run.metric), 14),
                     pad_left(fmt::format("{:+.0f} %", 100 * (*run.predicted / run.run.measured - 1)), 7), parts);
}

std::string details(const SetScore& set) {
  std::string out = fmt::format("\n{}\n", set.name);
  if (set.memory_mape)
    out +=
        fmt::format("  peak memory: {:.1f} % off on average, {:.1f} % at worst\n", *set.memory_mape, *set.memory_max);
  for (const auto& [reason, rows] : set.reasons) out += fmt::format("  not covered, {} rows: {}\n", rows, reason);
  if (!set.worst.empty())
    out += fmt::format("  {} {} {} {}  {}\n", pad_right("worst rows", 34), pad_left("predicted", 14),
                       pad_left("measured", 14), pad_left("off", 7), "largest parts of the predicted step");
  for (const PredictedRun& run : set.worst) out += worst_line(run);
  return out;
}

/// Figures of ten significant digits, so that the same sets give the same bytes.
Json json_figure(const std::optional<double>& value) {
  if (!value) return nullptr;
  return std::stod(fmt::format("{:.10g}", *value));
}

Json worst_json(const PredictedRun& run) {
  Json parts = Json::object();
  for (const auto& [name, share] : run.parts) parts[name] = json_figure(share);
  return {{"id", run.run.id},
          {"line", run.run.line},
          {"metric", name_of(run.run.metric)},
          {"predicted", json_figure(run.predicted)},
          {"measured", run.run.measured},
          {"error_pct", json_figure(100 * run.error())},
          {"shares", std::move(parts)}};
}

Json set_json(const SetScore& set) {
  Json reasons = Json::array();
  for (const auto& [reason, rows] : set.reasons) reasons.push_back({{"reason", reason}, {"rows", rows}});
  Json worst = Json::array();
  for (const PredictedRun& run : set.worst) worst.push_back(worst_json(run));
  return {{"name", set.name},
          {"rows", set.rows},
          {"covered", set.covered},
          {"mape_pct", json_figure(set.mape)},
          {"median_ape_pct", json_figure(set.median)},
          {"p90_ape_pct", json_figure(set.p90)},
          {"max_ape_pct", json_figure(set.max)},
          {"bias_pct", json_figure(set.bias)},
          {"kendall_tau", json_figure(set.kendall_tau)},
          {"kendall_tau_within", json_figure(set.kendall_tau_within)},
          {"memory_mape_pct", json_figure(set.memory_mape)},
          {"memory_max_ape_pct", json_figure(set.memory_max)},
          {"regret", nullptr},
          {"not_covered", std::move(reasons)},
          {"worst", std::move(worst)}};
}

}  // namespace

std::string validation_text(const std::vector<SetScore>& sets) {
  std::string out = table(sets);
  for (const SetScore& set : sets) out += details(set);
  return out;
}

Json validation_json(const std::vector<SetScore>& sets) {
  Json all = Json::array();
  for (const SetScore& set : sets) all.push_back(set_json(set));
  return {{"sets", std::move(all)}};
}

}  // namespace stepcast
