#include "calibration/validation/report/html_tables.hpp"

#include <fmt/format.h>

#include <array>

#include "report/humane.hpp"
#include "report/markup.hpp"
#include "report/scatter.hpp"

namespace stepcast {

namespace {

/// Cells of one row; `tag` is td or th.
std::string table_row(const std::vector<std::string>& cells, const char* tag = "td", const char* attributes = "") {
  std::string out = fmt::format("<tr{}>", attributes);
  for (const std::string& cell : cells) out += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return out + "</tr>\n";
}

std::string table(const std::string& rows) { return "<div class=\"wide\"><table>\n" + rows + "</table></div>\n"; }

std::string table_header(const std::string& what) {
  return table_row({what, "rows", "covered", "mean", "median", "p90", "worst", "bias", "τ", "τ within", "regret"},
                   "th");
}

std::string figures_row(const std::string& name, const AccuracyFigures& figures, const char* attributes = "") {
  return table_row(
      {name, whole(static_cast<long>(figures.rows)), whole(static_cast<long>(figures.covered)),
       figure_text(figures.mape), figure_text(figures.median), figure_text(figures.p90), figure_text(figures.max),
       signed_figure_text(figures.bias), figure_text(figures.kendall_tau, 2),
       figure_text(figures.kendall_tau_within, 2), figures.regret ? figure_text(figures.regret->mean) : "–"},
      "td", attributes);
}

std::string link_to(const std::string& name) { return fmt::format("<a href=\"#{0}\">{0}</a>", escaped_markup(name)); }

std::string rows_apart(const SetScore& set) {
  std::string out;
  constexpr const char* kApart = " class=\"apart\"";
  if (set.doubtful.rows > 0) {
    out += figures_row("doubted by their source", set.doubtful, kApart);
    out += figures_row("with those", set.all, kApart);
  }
  if (set.fully_stated.rows > 0 && set.fully_stated.rows + set.doubtful.rows < set.rows)
    out += figures_row("every input stated", set.fully_stated, kApart);
  return out;
}

/// Shares of a step as one bar, in the order of the legend's colours.
std::string shares_bar(const std::vector<std::pair<std::string, double>>& parts) {
  constexpr double kWidth = 190;
  std::string out = fmt::format("<svg class=\"shares\" viewBox=\"0 0 {} 12\" preserveAspectRatio=\"none\">", kWidth);
  double x = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double width = std::max(0.0, kWidth * parts[i].second);
    if (width < 0.5) continue;
    out +=
        fmt::format("<rect class=\"c{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"12\"><title>{} {:.0f} %</title></rect>",
                    i % kScatterColours, x, width, escaped_markup(parts[i].first), 100 * parts[i].second);
    x += width;
  }
  return out + "</svg>";
}

std::string parts_text(const PredictedRun& run) {
  std::string out;
  for (const auto& [name, share] : run.parts)
    if (share >= 0.005) out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", name, 100 * share);
  return out;
}

std::string worst_rows(const SetScore& set) {
  if (set.worst.empty()) return {};
  std::string out = table_row({"worst rows", "predicted", "measured", "off", "predicted step", ""}, "th");
  for (const PredictedRun* run : set.worst)
    out += table_row({escaped_markup(row_title(run->run)), metric_text(*run->predicted, run->run.metric),
                      metric_text(run->run.measured, run->run.metric),
                      fmt::format("{:+.0f} %", 100 * (*run->predicted / run->run.measured - 1)), shares_bar(run->parts),
                      fmt::format("<span class=\"words\">{}</span>", escaped_markup(parts_text(*run)))});
  return table(out);
}

std::string counted(const char* what, const std::map<std::string, int>& reasons) {
  if (reasons.empty()) return {};
  std::string out = table_row({what, "rows"}, "th");
  for (const auto& [reason, rows] : reasons) out += table_row({escaped_markup(reason), std::to_string(rows)});
  return table(out);
}

}  // namespace

std::string html_table_of_sets(const ValidationScores& scores) {
  std::string out = table_header("set");
  for (const SetScore& set : scores.runs) out += figures_row(link_to(set.name), set) + rows_apart(set);
  if (scores.runs.size() > 1) out += figures_row("all training runs", scores.total) + rows_apart(scores.total);
  for (const OperatorSetScore& set : scores.operators) out += figures_row(link_to(set.name), set.errors);
  for (const CollectiveScore& set : scores.collectives) out += figures_row(link_to(set.name), accuracy_of(set));
  return table(out);
}

std::string html_table_of_accelerators(const SetScore& set) {
  std::string out = table_header("accelerator");
  for (const auto& [accelerator, figures] : set.accelerators)
    if (figures.covered > 0) out += figures_row(escaped_markup(accelerator), figures);
  return table(out);
}

std::string html_details(const SetScore& set) {
  std::string out = set.accelerators.size() > 1 ? html_table_of_accelerators(set) : std::string();
  if (set.memory_mape)
    out += fmt::format("<p>Peak memory: {:.1f} % off on average, {:.1f} % at worst.</p>\n", *set.memory_mape,
                       *set.memory_max);
  if (set.regret)
    out += fmt::format(
        "<p>The mapping that the model ranks first measured {:.1f} % slower than the best of its group on average, "
        "{:.1f} % at worst ({} groups).</p>\n",
        set.regret->mean, set.regret->worst, set.groups.size());
  return out + worst_rows(set) + counted("doubted", set.doubts) + counted("not covered, because", set.reasons);
}

std::string html_details(const OperatorSetScore& set) {
  std::string rows = table_header("accelerator, format");
  for (const OperatorGroup& group : set.groups)
    rows += figures_row(escaped_markup(fmt::format("{}, {}{}", group.accelerator, group.format,
                                                   group.figure == "time" ? "" : ", " + group.figure)),
                        group.errors);
  return table(rows) + counted("not covered, because", set.reasons);
}

std::string html_details(const CollectiveScore& set) {
  std::string rows =
      table_row({"mean / median error by size", "", "≤ 1 KiB", "1–64 KiB", "64 KiB–16 MiB", "≥ 16 MiB"}, "th");
  for (const CollectiveLine& line : set.lines) {
    std::vector<std::string> cells{escaped_markup(line.where), escaped_markup(line.operation)};
    for (const ErrorFigures& range : line.ranges)
      cells.push_back(range.rows == 0 ? "–" : fmt::format("{:.0f} / {:.0f}", *range.mean, *range.median));
    rows += table_row(cells);
  }
  std::string out = table(rows);
  if (set.unhealthy > 0)
    out += fmt::format("<p>{} rows are not healthy by their source, and left out.</p>\n", set.unhealthy);
  return out + counted("not covered, because", set.reasons);
}

}  // namespace stepcast
