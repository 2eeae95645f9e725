#include "calibration/validation/report/markdown_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "calibration/validation/never_fit.hpp"
#include "calibration/validation/statistics.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kWorstGroups = 15, kWorstRankedGroups = 10, kSmallestWorstGroup = 3;

std::string line(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) out += " " + cell + " |";
  return out + "\n";
}

/// Header and rule: words in the first column, figures behind it.
std::string header(const std::vector<std::string>& cells) {
  std::string out = line(cells) + "|---|";
  for (std::size_t i = 1; i < cells.size(); ++i) out += "---:|";
  return out + "\n";
}

std::string figures_header(const std::string& what) {
  return header({what, "rows", "covered", "mean", "median", "p90", "worst", "bias", "τ", "τ within"});
}

std::string figures_line(const std::string& name, const AccuracyFigures& figures) {
  return line({name, std::to_string(figures.rows), std::to_string(figures.covered), figure_text(figures.mape),
               figure_text(figures.median), figure_text(figures.p90), figure_text(figures.max),
               signed_figure_text(figures.bias), figure_text(figures.kendall_tau, 2),
               figure_text(figures.kendall_tau_within, 2)});
}

std::string apart(const SetScore& set) {
  std::string out;
  if (set.doubtful.rows > 0)
    out += figures_line("… doubted by their source", set.doubtful) + figures_line("… with those", set.all);
  if (set.fully_stated.rows > 0 && set.fully_stated.rows + set.doubtful.rows < set.rows)
    out += figures_line("… every input stated", set.fully_stated);
  return out;
}

std::string model_of(const PredictedRun& run) {
  if (!run.run.model.empty()) return run.run.model;
  const Json& model = run.run.scenario.at("workload").at("model");
  return model.is_object() ? model.value("id", std::string("–")) : model.get<std::string>();
}

std::string off(double predicted, double measured) {
  return fmt::format("{:+.0f} %", 100 * (predicted / measured - 1));
}

std::string run_line(const PredictedRun& run) {
  const std::string what = fmt::format("{}, {} × {}", model_of(run), run.run.gpus, run.run.accelerator);
  return line({run.run.source.substr(0, run.run.source.find(" (")), what, metric_text(run.run.measured, run.run.metric),
               metric_text(*run.predicted, run.run.metric), off(*run.predicted, run.run.measured)});
}

std::string value_text(const ObservedFigure& figure, double value) {
  return figure.is_ratio ? fmt::format("{:.2f}×", value) : significant(value);
}

}  // namespace

std::string markdown_sets(const ValidationScores& scores) {
  std::string out = figures_header("set");
  for (const SetScore& set : scores.runs) out += figures_line(set.name, set) + apart(set);
  out += figures_line("**all training runs**", scores.total) + apart(scores.total);
  for (const OperatorSetScore& set : scores.operators) out += figures_line(set.name, set.errors);
  for (const CollectiveScore& set : scores.collectives) out += figures_line(set.name, accuracy_of(set));
  return out;
}

std::string markdown_accelerators(const SetScore& total) {
  std::string out = figures_header("accelerator");
  for (const auto& [accelerator, figures] : total.accelerators)
    if (figures.covered > 0) out += figures_line(accelerator, figures);
  return out;
}

std::string markdown_intervals(const std::vector<SetScore>& sets) {
  constexpr std::size_t kGrades = EnumNames<EvidenceGrade>::names.size();
  std::vector<std::string> heads{"set", "rows", "held"};
  for (const std::string_view grade : EnumNames<EvidenceGrade>::names)
    heads.push_back(fmt::format("of grade {}", grade));
  std::string out = header(heads);
  for (const SetScore& set : sets) {
    std::array<std::size_t, kGrades> rows{}, held{};
    for (const PredictedRun& run : set.runs) {
      if (!run.covered() || !run.run.doubtful.empty()) continue;
      const auto grade = static_cast<std::size_t>(run.expected_error.grade);
      ++rows[grade];
      held[grade] += run.in_interval() ? 1 : 0;
    }
    std::vector<std::string> cells{set.name, std::to_string(std::accumulate(rows.begin(), rows.end(), std::size_t{0})),
                                   fmt::format("{} %", figure_text(set.in_interval))};
    for (std::size_t i = 0; i < kGrades; ++i)
      cells.push_back(rows[i] == 0 ? "–" : fmt::format("{} of {}", held[i], rows[i]));
    out += line(cells);
  }
  return out;
}

std::string markdown_memory(const std::vector<SetScore>& sets) {
  struct Peaks {
    std::vector<double> errors, differences;
  };
  std::string out = header({"set, framework", "rows", "mean", "bias", "worst"});
  for (const SetScore& set : sets) {
    std::map<std::string, Peaks> by_framework;
    for (const PredictedRun& run : set.runs) {
      if (!run.memory || !run.run.measured_memory || !run.run.doubtful.empty()) continue;
      Peaks& peaks = by_framework[run.run.framework];
      peaks.differences.push_back(100 * (*run.memory / *run.run.measured_memory - 1));
      peaks.errors.push_back(std::abs(peaks.differences.back()));
    }
    for (const auto& [framework, peaks] : by_framework)
      out += line({fmt::format("{}: {}", set.name, framework), std::to_string(peaks.errors.size()),
                   figure_text(mean(peaks.errors)), signed_figure_text(mean(peaks.differences)),
                   figure_text(quantile(peaks.errors, 1))});
  }
  return out;
}

std::string markdown_scaling(const std::vector<SetScore>& sets) {
  std::string out = header({"set, framework", "rows", "gain", "efficiency, points"});
  for (const SetScore& set : sets)
    for (const auto& [framework, score] : set.scaling)
      out += line({fmt::format("{}: {}", set.name, framework), std::to_string(score.rows), figure_text(score.mape),
                   figure_text(score.efficiency_points)});
  return out;
}

std::string markdown_ranking(const std::vector<SetScore>& sets) {
  std::string out = header({"set", "groups", "τ within", "regret, mean", "regret, worst"});
  std::vector<const RankedGroup*> worst;
  for (const SetScore& set : sets) {
    if (set.groups.empty()) continue;
    out += line({set.name, std::to_string(set.groups.size()), figure_text(mean_tau(set.groups), 2),
                 fmt::format("{:.1f} %", set.regret->mean), fmt::format("{:.1f} %", set.regret->worst)});
    for (const RankedGroup& group : set.groups)
      if (group.regret > 0) worst.push_back(&group);
  }
  std::stable_sort(worst.begin(), worst.end(),
                   [](const RankedGroup* a, const RankedGroup* b) { return a->regret > b->regret; });
  if (worst.size() > kWorstRankedGroups) worst.resize(kWorstRankedGroups);
  out += "\nGroups of the largest regret:\n\n" + header({"group", "configurations", "τ", "regret"});
  for (const RankedGroup* group : worst)
    out += line({group->name, std::to_string(group->configurations.size()), figure_text(group->kendall_tau, 2),
                 fmt::format("{:.1f} %", group->regret)});
  return out;
}

std::string markdown_worst_groups(const std::vector<SetScore>& sets) {
  struct Group {
    std::string name;
    std::vector<double> errors, ratios;
  };
  std::map<std::string, Group> groups;
  for (const SetScore& set : sets)
    for (const PredictedRun& run : set.runs) {
      if (!run.covered() || !run.run.doubtful.empty()) continue;
      const std::string name = fmt::format("{}: {} on {}", set.name, model_of(run), run.run.accelerator);
      Group& group = groups[name];
      group.name = name;
      group.errors.push_back(run.error());
      group.ratios.push_back(run.time_ratio());
    }
  std::vector<Group> worst;
  for (auto& [name, group] : groups)
    if (group.errors.size() >= kSmallestWorstGroup) worst.push_back(std::move(group));
  std::stable_sort(worst.begin(), worst.end(),
                   [](const Group& a, const Group& b) { return *mean(a.errors) > *mean(b.errors); });
  if (worst.size() > kWorstGroups) worst.resize(kWorstGroups);
  std::string out = header({"set, model, accelerator", "rows", "mean", "bias"});
  for (const Group& group : worst) {
    AccuracyFigures figures;
    set_errors(figures, group.errors, group.ratios);
    out += line(
        {group.name, std::to_string(group.errors.size()), figure_text(figures.mape), signed_figure_text(figures.bias)});
  }
  return out;
}

std::string markdown_never_fit(const std::vector<SetScore>& sets) {
  std::string out = header({"source", "run", "measured", "predicted", "off"});
  std::map<std::string, int> refused;
  for (const SetScore& set : sets)
    for (const PredictedRun& run : set.runs) {
      if (!NeverFit::shipped().holds(run.run)) continue;
      if (run.covered())
        out += run_line(run);
      else
        ++refused[fmt::format("{}: {}", run.run.source, run.reason)];
    }
  if (refused.empty()) return out;
  out += "\nNot covered:\n\n" + header({"source and reason", "rows"});
  for (const auto& [reason, rows] : refused) out += line({reason, std::to_string(rows)});
  return out;
}

std::string markdown_doubted(const std::vector<SetScore>& sets) {
  std::string out = header({"set, doubt", "rows"});
  for (const SetScore& set : sets)
    for (const auto& [doubt, rows] : set.doubts)
      out += line({fmt::format("{}: {}", set.name, doubt), std::to_string(rows)});
  return out;
}

std::string markdown_not_covered(const ValidationScores& scores) {
  std::string out = header({"set, reason", "rows"});
  const auto add = [&](const std::string& set, const std::map<std::string, int>& reasons) {
    for (const auto& [reason, rows] : reasons) out += line({fmt::format("{}: {}", set, reason), std::to_string(rows)});
  };
  for (const SetScore& set : scores.runs) add(set.name, set.reasons);
  for (const OperatorSetScore& set : scores.operators) add(set.name, set.reasons);
  for (const CollectiveScore& set : scores.collectives) {
    add(set.name, set.reasons);
    if (set.unhealthy > 0)
      out += line({fmt::format("{}: not healthy by its source", set.name), std::to_string(set.unhealthy)});
  }
  return out;
}

std::string markdown_observations(const std::vector<Observation>& observations) {
  std::string out = header({"observation", "observed", "predicted"});
  for (const Observation& one : observations) {
    out += line({fmt::format("**{}. {}**", one.number, one.title), "", ""});
    for (const ObservedFigure& figure : one.figures)
      out += line({figure.what, value_text(figure, figure.observed),
                   figure.predicted ? value_text(figure, *figure.predicted) : "– (" + figure.reason + ")"});
  }
  return out;
}

std::string markdown_operators(const std::vector<OperatorSetScore>& sets) {
  std::string out = figures_header("set, accelerator, format");
  for (const OperatorSetScore& set : sets)
    for (const OperatorGroup& group : set.groups)
      out += figures_line(fmt::format("{}: {}, {}{}", set.name, group.accelerator, group.format,
                                      group.figure == "time" ? "" : ", " + group.figure),
                          group.errors);
  return out;
}

std::string markdown_operators_left_out(const std::vector<const OperatorProfile*>& profiles) {
  std::string out = header({"family", "operators", "rows", "left out"});
  for (const OperatorProfile* profile : profiles) {
    if (!profile->fit) continue;
    for (const auto& [kind, error] : profile->fit->error_percent)
      if (const auto rows = profile->fit->rows.find(kind); rows != profile->fit->rows.end())
        out += line({profile->id, kind, fmt::format("{:.0f}", rows->second), fmt::format("{:.1f}", error)});
  }
  return out;
}

std::string markdown_new_accelerators(const std::vector<LeftOutOperators>& left_out) {
  std::string out = header({"set: accelerator, kernel", "rows", "its own constants", "as a sibling", "by steps alone"});
  for (const LeftOutOperators& one : left_out)
    out += line({fmt::format("{}: {}{}{}", one.set, one.accelerator, one.kernel.empty() ? "" : ", ", one.kernel),
                 std::to_string(one.rows), figure_text(one.own), figure_text(one.siblings), figure_text(one.steps)});
  return out;
}

std::string markdown_collectives(const std::vector<CollectiveScore>& sets) {
  std::string out = header({"set, place, operation", "≤ 1 KiB", "1–64 KiB", "64 KiB–16 MiB", "≥ 16 MiB"});
  for (const CollectiveScore& set : sets)
    for (const CollectiveLine& one : set.lines) {
      std::vector<std::string> cells{fmt::format("{}: {}, {}", set.name, one.where, one.operation)};
      for (const ErrorFigures& range : one.ranges)
        cells.push_back(range.rows == 0 ? "–" : fmt::format("{:.0f} / {:.0f}", *range.mean, *range.median));
      out += line(cells);
    }
  return out;
}

std::string markdown_collective_accelerators(const std::vector<CollectiveScore>& sets) {
  std::string out = header({"set, accelerator", "rows", "mean", "median", "p90", "worst", "bias"});
  for (const CollectiveScore& set : sets)
    for (const auto& [accelerator, figures] : set.accelerators)
      out += line({fmt::format("{}: {}", set.name, accelerator), std::to_string(figures.rows),
                   figure_text(figures.mean), figure_text(figures.median), figure_text(figures.p90),
                   figure_text(figures.max), signed_figure_text(figures.bias)});
  return out;
}

std::string markdown_grown(const std::vector<GrownError>& grown) {
  std::string out = header({"set", "old, %", "new, %", "why"});
  for (const GrownError& one : grown)
    out += line({one.set, fmt::format("{:.1f}", one.old_pct), fmt::format("{:.1f}", one.new_pct), one.why});
  return out;
}

}  // namespace stepcast
