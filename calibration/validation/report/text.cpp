#include <fmt/format.h>

#include "calibration/validation/report/validation_scores.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kPartsShown = 3;
constexpr int kRowColumns = 40;

std::string table_line(const std::vector<std::string>& cells) {
  constexpr int kNameColumns = 28, kFigureColumns = 9;
  std::string out = pad_right(cells.front(), kNameColumns);
  for (std::size_t i = 1; i < cells.size(); ++i) out += pad_left(cells[i], kFigureColumns);
  return out + "\n";
}

std::string figures_line(const std::string& name, const AccuracyFigures& figures) {
  return table_line({name, std::to_string(figures.rows), std::to_string(figures.covered), figure_text(figures.mape),
                     figure_text(figures.median), figure_text(figures.p90), figure_text(figures.max),
                     signed_figure_text(figures.bias), figure_text(figures.kendall_tau, 3),
                     figure_text(figures.kendall_tau_within, 3)});
}

std::string header_line(const std::string& what) {
  return table_line({what, "rows", "covered", "mean", "median", "p90", "worst", "bias", "tau", "within"});
}

/// Doubted rows and fully stated ones, where they are some but not all.
std::string apart(const SetScore& set) {
  std::string out;
  if (set.doubtful.rows > 0) {
    out += figures_line("  doubted by their source", set.doubtful);
    out += figures_line("  with those", set.all);
  }
  if (set.fully_stated.rows > 0 && set.fully_stated.rows + set.doubtful.rows < set.rows)
    out += figures_line("  every input stated", set.fully_stated);
  return out;
}

std::string table(const ValidationScores& scores) {
  std::string out = "Errors in % of what was measured; bias > 0: predicted too slow\n\n" + header_line("set");
  for (const SetScore& set : scores.runs) out += figures_line(set.name, set) + apart(set);
  if (scores.runs.size() < 2) return out;
  out += figures_line("all sets", scores.total) + apart(scores.total);
  out += "\n" + header_line("accelerator, all sets");
  for (const auto& [accelerator, figures] : scores.total.accelerators)
    if (figures.covered > 0) out += figures_line(accelerator, figures);
  return out;
}

std::string worst_line(const PredictedRun& run) {
  std::string parts;
  for (std::size_t i = 0; i < std::min(kPartsShown, run.parts.size()); ++i)
    parts += fmt::format("{}{} {:.0f} %", parts.empty() ? "" : ", ", run.parts[i].first, 100 * run.parts[i].second);
  return fmt::format("  {} {} {} {}  {}\n", pad_right(row_title(run.run), kRowColumns),
                     pad_left(metric_text(*run.predicted, run.run.metric), 14),
                     pad_left(metric_text(run.run.measured, run.run.metric), 14),
                     pad_left(fmt::format("{:+.0f} %", 100 * (*run.predicted / run.run.measured - 1)), 7), parts);
}

std::string group_lines(const SetScore& set) {
  std::string out;
  for (const RankedGroup& group : set.groups)
    out += fmt::format("  {} {} configurations, tau {}, first choice {:.1f} % slower than the best\n",
                       pad_right(group.name, 52), pad_left(std::to_string(group.configurations.size()), 4),
                       figure_text(group.kendall_tau, 2), group.regret);
  return out;
}

std::string details(const SetScore& set, RegretDetail detail) {
  std::string out = fmt::format("\n{}\n", set.name);
  if (set.memory_mape)
    out +=
        fmt::format("  peak memory: {:.1f} % off on average, {:.1f} % at worst\n", *set.memory_mape, *set.memory_max);
  if (set.regret)
    out += fmt::format("  regret: the mapping ranked first is {:.1f} % slower than the best one, {:.1f} % at worst\n",
                       set.regret->mean, set.regret->worst);
  if (detail == RegretDetail::groups) out += group_lines(set);
  for (const auto& [doubt, rows] : set.doubts) out += fmt::format("  doubted, {} rows: {}\n", rows, doubt);
  for (const auto& [reason, rows] : set.reasons) out += fmt::format("  not covered, {} rows: {}\n", rows, reason);
  for (const auto& [framework, score] : set.scaling)
    out += fmt::format("  scaling of {}, {} rows: gains {:.1f} % off, efficiency {:.1f} points\n", framework,
                       score.rows, *score.mape, *score.efficiency_points);
  if (set.accelerators.size() > 1)
    for (const auto& [accelerator, figures] : set.accelerators)
      if (figures.covered > 0) out += figures_line("  " + accelerator, figures);
  if (!set.worst.empty())
    out += fmt::format("  {} {} {} {}  {}\n", pad_right("worst rows", kRowColumns), pad_left("predicted", 14),
                       pad_left("measured", 14), pad_left("off", 7), "largest parts of the predicted step");
  for (const PredictedRun* run : set.worst) out += worst_line(*run);
  return out;
}

}  // namespace

std::string validation_text(const ValidationScores& scores, RegretDetail detail) {
  std::string out;
  for (const std::string& note : scores.notes) out += note + "\n\n";
  if (!scores.runs.empty()) out += table(scores);
  for (const SetScore& set : scores.runs) out += details(set, detail);
  out += collective_validation_text(scores.collectives);
  if (!scores.operators.empty()) out += operator_report(scores.operators);
  return out;
}

}  // namespace stepcast
