#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibration/validation/report/html_tables.hpp"
#include "calibration/validation/report/validation_scores.hpp"
#include "report/humane.hpp"
#include "report/markup.hpp"
#include "report/scatter.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

std::string seconds_label(double value) { return humane(Seconds(value)); }
std::string watts_label(double value) { return humane(Watts(value)); }

std::string title_of(const std::string& what, double predicted, double measured, std::string (*label)(double)) {
  return fmt::format("{}: measured {}, predicted {} ({:+.0f} %)", what, label(measured), label(predicted),
                     100 * (predicted / measured - 1));
}

std::vector<ScatterSeries> series_of(std::map<std::string, std::vector<ScatterPoint>>&& points) {
  std::vector<ScatterSeries> out;
  out.reserve(points.size());
  for (auto& [name, of_it] : points) out.push_back({name, std::move(of_it)});
  // Large series first, so that small ones lie on top of them and keep their place in the order of colours.
  std::stable_sort(out.begin(), out.end(),
                   [](const ScatterSeries& a, const ScatterSeries& b) { return a.points.size() > b.points.size(); });
  return out;
}

Scatter scatter_of(const SetScore& set) {
  std::map<std::string, std::vector<ScatterPoint>> points;
  for (const PredictedRun& run : set.runs) {
    if (!run.covered()) continue;
    const double measured = run.measured_step_time().value(), predicted = run.step_time.value();
    const std::string series = !run.run.doubtful.empty() ? "doubted by its source" : run.run.accelerator;
    points[series].push_back({measured, predicted, title_of(row_title(run.run), predicted, measured, seconds_label)});
  }
  return {"step time", seconds_label, 0.1, series_of(std::move(points))};
}

Scatter scatter_of_sets(const std::vector<SetScore>& sets) {
  std::map<std::string, std::vector<ScatterPoint>> points;
  for (const SetScore& set : sets)
    for (ScatterSeries& series : scatter_of(set).series) {
      std::vector<ScatterPoint>& all = points[series.name];
      all.insert(all.end(), series.points.begin(), series.points.end());
    }
  return {"step time", seconds_label, 0.1, series_of(std::move(points))};
}

Scatter scatter_of(const OperatorSetScore& set) {
  const auto label = set.figure == "time" ? seconds_label : watts_label;
  std::map<std::string, std::vector<ScatterPoint>> points;
  for (const OperatorPoint& point : set.points)
    points[point.accelerator].push_back(
        {point.measured, point.predicted,
         title_of(fmt::format("line {}", point.line), point.predicted, point.measured, label)});
  return {set.figure, label, 0.1, series_of(std::move(points))};
}

Scatter scatter_of(const CollectiveScore& set) {
  std::map<std::string, std::vector<ScatterPoint>> points;
  for (const CollectivePoint& point : set.points) {
    const double measured = point.measured_us * 1e-6, predicted = point.predicted_us * 1e-6;
    points[std::string(name_of(point.where))].push_back(
        {measured, predicted, title_of(fmt::format("line {}", point.line), predicted, measured, seconds_label)});
  }
  return {"time", seconds_label, 0.1, series_of(std::move(points))};
}

std::string section(const std::string& name, const std::string& body) {
  return fmt::format("<section><h2 id=\"{0}\">{0}</h2>\n{1}</section>\n", escaped_markup(name), body);
}

constexpr std::string_view kPageStyle =
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1080px;padding:24px;color:var(--ink);background:var(--page);"
    "font:15px/1.5 system-ui,sans-serif}\n"
    "h1{margin:.2em 0}h2{margin:1.6em 0 .3em;border-top:1px solid var(--line);padding-top:1em}p{color:var(--soft)}\n"
    "table{border-collapse:collapse;margin:.8em 0;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:3px 10px;border-bottom:1px solid var(--line);text-align:right}"
    "th:first-child,td:first-child,.words{text-align:left}th{color:var(--soft);font-weight:600}\n"
    ".wide{overflow-x:auto}a{color:inherit}.apart td:first-child{padding-left:24px;color:var(--soft)}\n"
    ".shares{width:190px;height:12px;display:block}\n";

}  // namespace

std::string validation_html(const ValidationScores& scores) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>Stepcast: predicted against measured</title>\n<style>\n{}{}</style></head>\n<body>\n"
      "<h1>Predicted against measured</h1>\n<p>Stepcast {}, {}. Errors in % of what was measured; a bias above 0 is "
      "predicted too slow. The band is ±10 %; rest the pointer on a mark to see what it is.</p>\n",
      scatter_style(), kPageStyle, kVersion,
      scores.fidelity == "simulated" ? "step graphs on the engine" : "closed form");
  for (const std::string& note : scores.notes) out += fmt::format("<p>{}</p>\n", escaped_markup(note));
  out += html_table_of_sets(scores);
  if (scores.runs.size() > 1)
    out += section("all training runs",
                   scatter_svg(scatter_of_sets(scores.runs)) + html_table_of_accelerators(scores.total));
  for (const SetScore& set : scores.runs) out += section(set.name, scatter_svg(scatter_of(set)) + html_details(set));
  for (const OperatorSetScore& set : scores.operators)
    out += section(set.name, scatter_svg(scatter_of(set)) + html_details(set));
  for (const CollectiveScore& set : scores.collectives)
    out += section(set.name, scatter_svg(scatter_of(set)) + html_details(set));
  return out + "</body></html>\n";
}

}  // namespace stepcast
