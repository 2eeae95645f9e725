#include "calibration/fit/step/step_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "calibration/validation/settle.hpp"
#include "fields/in_parallel.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kLeastGroup = 4;

struct Group {
  std::vector<MeasuredStep> steps;
  bool mixture = false;
};

Seconds measured_time(const MeasuredRun& run, const Scenario& scenario) {
  if (run.metric == Metric::step_time) return Seconds(run.measured);
  const auto batch = static_cast<double>(scenario.spec.workload.global_batch);
  if (run.metric == Metric::samples_per_s) return Seconds(batch / run.measured);
  return Seconds(batch * scenario.seq_len / (run.measured * scenario.devices()));
}

double error_of(const MeasuredStep& step, const std::vector<SoftwareConstant>& constants) {
  return 100 * std::abs(step_time_with(*step.scenario, constants) / step.measured - 1);
}

/// Runs that are given, steps apart: those of a table lie in order of their size, so the given ones span it.
std::vector<std::size_t> given_runs(std::size_t first, std::size_t given, std::size_t n) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < given; ++i) out.push_back((first + i * n / given) % n);
  return out;
}

bool is_given(std::size_t run, const std::vector<std::size_t>& runs) {
  return std::find(runs.begin(), runs.end(), run) != runs.end();
}

/// What a common factor makes of a group, by ln(measured / shipped) of its runs.
void compare_factors(GroupCheck& out) {
  std::vector<double> logs;
  for (const CheckedStep& step : out.steps) logs.push_back(std::log(step.measured_s / step.shipped_s));
  const std::size_t n = logs.size();
  const auto error = [&](std::size_t i, double factor) { return 100 * std::abs(std::exp(factor - logs[i]) - 1); };
  for (std::size_t given = 1; given <= out.factor_percent.size() && given < n; ++given) {
    double sum = 0;
    for (std::size_t first = 0; first < n; ++first) {
      const std::vector<std::size_t> known = given_runs(first, given, n);
      double factor = 0;
      for (const std::size_t i : known) factor += logs[i] / static_cast<double>(given);
      for (std::size_t i = 0; i < n; ++i)
        if (!is_given(i, known)) sum += error(i, factor);
    }
    out.factor_percent[given - 1] = sum / static_cast<double>(n * (n - given));
  }
  const double median = quantile_of(logs, 0.5);
  for (std::size_t i = 0; i < n; ++i) out.median_percent += error(i, median) / static_cast<double>(n);
}

GroupCheck check(const std::string& name, const Group& group) {
  GroupCheck out;
  out.group = name;
  out.mixture_of_experts = group.mixture;
  const std::size_t n = out.rows = group.steps.size();
  for (const MeasuredStep& step : group.steps) {
    out.shipped_percent += error_of(step, {}) / static_cast<double>(n);
    out.steps.push_back({step.name, step.measured.value(), step_time_with(*step.scenario, {}).value()});
  }
  for (std::size_t given = 1; given <= out.given_percent.size() && given < n; ++given) {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t first = 0; first < n; ++first) {
      const std::vector<std::size_t> known = given_runs(first, given, n);
      std::vector<MeasuredStep> seen;
      seen.reserve(known.size());
      for (const std::size_t i : known) seen.push_back(group.steps[i]);
      const StepFit fit = fit_steps(seen);
      if (given == 1 && !fit.explained) ++out.refused;
      for (std::size_t i = 0; i < n; ++i) {
        if (is_given(i, known)) continue;
        sum += error_of(group.steps[i], fit.constants);
        ++count;
      }
    }
    out.given_percent[given - 1] = count > 0 ? sum / static_cast<double>(count) : 0;
    out.predictions[given - 1] = n;
  }
  compare_factors(out);
  return out;
}

/// Means over the runs of all groups: none given, one, two, three; the same by a common factor; by the median.
struct MeanErrors {
  std::size_t rows = 0;
  std::array<double, 4> fitted{}, factor{};
  double median = 0;
  double common = 0;   ///< share of the squared ln(measured / shipped) that all runs of a group have in common
  double refused = 0;  ///< share of the runs that are not explained, given alone
};

MeanErrors means(const std::vector<GroupCheck>& groups, bool mixture) {
  MeanErrors out;
  std::array<double, 4> counts{};
  double squares = 0;
  for (const GroupCheck& group : groups) {
    if (group.mixture_of_experts != mixture) continue;
    out.rows += group.rows;
    const auto n = static_cast<double>(group.rows);
    counts[0] += n;
    out.fitted[0] += group.shipped_percent * n;
    out.factor[0] += group.shipped_percent * n;
    out.median += group.median_percent * n;
    out.refused += static_cast<double>(group.refused);
    for (std::size_t i = 0; i < 3; ++i) {
      if (group.predictions[i] == 0) continue;
      out.fitted[i + 1] += group.given_percent[i] * n;
      out.factor[i + 1] += group.factor_percent[i] * n;
      counts[i + 1] += n;
    }
    double sum = 0;
    for (const CheckedStep& step : group.steps) {
      const double log = std::log(step.measured_s / step.shipped_s);
      sum += log;
      squares += log * log;
    }
    out.common += sum * sum / n;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    out.fitted[i] = counts[i] > 0 ? out.fitted[i] / counts[i] : 0;
    out.factor[i] = counts[i] > 0 ? out.factor[i] / counts[i] : 0;
  }
  out.median = counts[0] > 0 ? out.median / counts[0] : 0;
  out.common = squares > 0 ? out.common / squares : 0;
  out.refused = counts[0] > 0 ? out.refused / counts[0] : 0;
  return out;
}

using Scenarios = std::vector<std::shared_ptr<const Scenario>>;

bool counts_all(const MeasuredRun& /*run*/) { return true; }

bool states_mapping_and_precision(const MeasuredRun& run) {
  return std::none_of(run.inputs_unstated.begin(), run.inputs_unstated.end(), [](const std::string& input) {
    return input == "mapping" || input == "precision" || input == kUnstatedWidth;
  });
}

bool states_everything(const MeasuredRun& run) { return run.inputs_unstated.empty(); }

/// The runs that count and have a scenario, in groups.
std::vector<GroupCheck> check_groups(const std::vector<MeasuredRun>& runs, const Scenarios& scenarios,
                                     bool (*counts)(const MeasuredRun&), int jobs) {
  std::map<std::string, Group> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (scenarios[i] == nullptr || scenarios[i]->accelerator == nullptr) continue;
    if (!counts(runs[i])) continue;
    Group& group = groups[fmt::format("{} | {} | {} | {}", runs[i].source, runs[i].model, runs[i].accelerator,
                                      scenarios[i]->framework->id)];
    group.mixture = runs[i].mixture_of_experts;
    group.steps.push_back({runs[i].id, scenarios[i], measured_time(runs[i], *scenarios[i])});
  }
  std::vector<std::pair<std::string, const Group*>> large;
  for (const auto& [name, group] : groups)
    if (group.steps.size() >= kLeastGroup) large.emplace_back(name, &group);
  std::vector<GroupCheck> out(large.size());
  in_parallel(large.size(), jobs, [&](std::size_t i) { out[i] = check(large[i].first, *large[i].second); });
  return out;
}

Json means_json(const MeanErrors& mean) {
  return {{"runs", mean.rows},
          {"shipped_percent", mean.fitted[0]},
          {"one_given_percent", mean.fitted[1]},
          {"two_given_percent", mean.fitted[2]},
          {"three_given_percent", mean.fitted[3]},
          {"one_factor_percent", mean.factor[1]},
          {"two_factor_percent", mean.factor[2]},
          {"three_factor_percent", mean.factor[3]},
          {"median_factor_percent", mean.median},
          {"common_share", mean.common},
          {"not_explained_share", mean.refused}};
}

}  // namespace

StepChecks check_steps(std::vector<MeasuredRun> runs, const Catalog& catalog, int jobs) {
  Scenarios scenarios(runs.size());
  in_parallel(runs.size(), jobs, [&](std::size_t i) {
    if (runs[i].doubtful.empty() && runs[i].metric != Metric::minutes_to_target)
      scenarios[i] = settled_scenario(runs[i], catalog);
  });
  return {check_groups(runs, scenarios, counts_all, jobs),
          check_groups(runs, scenarios, states_mapping_and_precision, jobs),
          check_groups(runs, scenarios, states_everything, jobs)};
}

std::string step_check_text(const StepChecks& checks) {
  std::string out = "Published runs by source, model and accelerator: mean error (%) on the others of a group\n\n";
  const auto columns = [](const std::string& name, std::size_t rows, double shipped, const auto& given) {
    std::string line = pad_right(name.substr(0, 69), 70) + fmt::format("{:>6}{:>9.1f}", rows, shipped);
    for (std::size_t i = 0; i < 3; ++i)
      line += given[i] > 0 ? fmt::format("{:>9.1f}", given[i]) : fmt::format("{:>9}", "-");
    return line + "\n";
  };
  out += fmt::format("{:<70}{:>6}{:>9}{:>9}{:>9}{:>9}\n", "group", "runs", "none", "1 given", "2 given", "3 given");
  for (const GroupCheck& group : checks.all)
    out += columns((group.mixture_of_experts ? "experts: " : "") + group.group, group.rows, group.shipped_percent,
                   group.given_percent);
  for (const bool mixture : {false, true}) {
    const MeanErrors all = means(checks.all, mixture);
    const auto given = [](const std::array<double, 4>& of) { return std::array{of[1], of[2], of[3]}; };
    out += columns(mixture ? "all, mixtures of experts" : "all, dense", all.rows, all.fitted[0], given(all.fitted));
    for (const auto& [name, groups] : {std::pair{"  mapping and precision stated", &checks.mapped},
                                       std::pair{"  every input stated", &checks.stated}}) {
      const MeanErrors some = means(*groups, mixture);
      if (some.rows > 0 && some.rows < all.rows) out += columns(name, some.rows, some.fitted[0], given(some.fitted));
    }
    out += columns("  by the given runs' mean factor instead", all.rows, all.factor[0], given(all.factor));
    out += fmt::format(
        "  by the median factor of each group's own runs: {:.1f}; {:.0f} % of the squared errors are common "
        "to a group\n",
        all.median, 100 * all.common);
    out += fmt::format("  not explained, given alone: {:.0f} % of the runs\n", 100 * all.refused);
  }
  return out;
}

Json step_check_json(const StepChecks& checks) {
  Json each = Json::array(), all = Json::object();
  for (const GroupCheck& group : checks.all) {
    Json steps = Json::array();
    for (const CheckedStep& step : group.steps)
      steps.push_back({{"name", step.name}, {"measured_s", step.measured_s}, {"shipped_s", step.shipped_s}});
    each.push_back({{"group", group.group},
                    {"mixture_of_experts", group.mixture_of_experts},
                    {"runs", group.rows},
                    {"shipped_percent", group.shipped_percent},
                    {"given_percent", group.given_percent},
                    {"not_explained", group.refused},
                    {"steps", std::move(steps)}});
  }
  for (const bool mixture : {false, true}) {
    Json& kind = all[mixture ? "mixture_of_experts" : "dense"] = means_json(means(checks.all, mixture));
    kind["mapping_and_precision_stated"] = means_json(means(checks.mapped, mixture));
    kind["every_input_stated"] = means_json(means(checks.stated, mixture));
  }
  return {{"all", std::move(all)}, {"groups", std::move(each)}};
}

}  // namespace stepcast
