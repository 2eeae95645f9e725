#include "calibration/fit/step/step_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/validation/parallel.hpp"
#include "calibration/validation/settle.hpp"
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

/// Nothing where the run cannot be predicted.
std::shared_ptr<const Scenario> resolved(MeasuredRun& run, const Catalog& catalog) {
  if (run.scenario.is_null()) return nullptr;
  try {
    settle(run, catalog);
    return std::make_shared<Scenario>(resolve(run.scenario, run.id, {}, catalog));
  } catch (const InputError&) {
    return nullptr;
  }
}

double error_of(const MeasuredStep& step, const std::vector<SoftwareConstant>& constants) {
  return 100 * std::abs(step_time_with(*step.scenario, constants) / step.measured - 1);
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
      std::vector<MeasuredStep> seen;
      // Runs of a table lie in order of their size: steps apart, so that the given ones span it.
      for (std::size_t i = 0; i < given; ++i) seen.push_back(group.steps[(first + i * n / given) % n]);
      const StepFit fit = fit_steps(seen);
      for (std::size_t i = 0; i < n; ++i) {
        const bool known = std::any_of(seen.begin(), seen.end(),
                                       [&](const MeasuredStep& step) { return step.name == group.steps[i].name; });
        if (known) continue;
        sum += error_of(group.steps[i], fit.constants);
        ++count;
      }
    }
    out.given_percent[given - 1] = count > 0 ? sum / static_cast<double>(count) : 0;
    out.predictions[given - 1] = n;
  }
  return out;
}

/// Mean over runs of the groups' errors.
std::array<double, 4> means(const std::vector<GroupCheck>& groups, bool mixture, std::size_t& rows) {
  std::array<double, 4> sums{}, counts{};
  rows = 0;
  for (const GroupCheck& group : groups) {
    if (group.mixture_of_experts != mixture) continue;
    rows += group.rows;
    const auto n = static_cast<double>(group.rows);
    sums[0] += group.shipped_percent * n;
    counts[0] += n;
    for (std::size_t i = 0; i < 3; ++i) {
      if (group.predictions[i] == 0) continue;
      sums[i + 1] += group.given_percent[i] * n;
      counts[i + 1] += n;
    }
  }
  for (std::size_t i = 0; i < 4; ++i) sums[i] = counts[i] > 0 ? sums[i] / counts[i] : 0;
  return sums;
}

}  // namespace

std::vector<GroupCheck> check_steps(std::vector<MeasuredRun> runs, const Catalog& catalog, int jobs) {
  std::vector<std::shared_ptr<const Scenario>> scenarios(runs.size());
  in_parallel(runs.size(), jobs, [&](std::size_t i) {
    if (runs[i].doubtful.empty() && runs[i].metric != Metric::minutes_to_target)
      scenarios[i] = resolved(runs[i], catalog);
  });
  std::map<std::string, Group> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (scenarios[i] == nullptr || scenarios[i]->accelerator == nullptr) continue;
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

std::string step_check_text(const std::vector<GroupCheck>& groups) {
  std::string out = "Published runs by source, model and accelerator: mean error (%) on the others of a group\n\n";
  const auto columns = [](const std::string& name, std::size_t rows, double shipped, const auto& given) {
    std::string line = pad_right(name.substr(0, 69), 70) + fmt::format("{:>6}{:>9.1f}", rows, shipped);
    for (std::size_t i = 0; i < 3; ++i)
      line += given[i] > 0 ? fmt::format("{:>9.1f}", given[i]) : fmt::format("{:>9}", "-");
    return line + "\n";
  };
  out += fmt::format("{:<70}{:>6}{:>9}{:>9}{:>9}{:>9}\n", "group", "runs", "none", "1 given", "2 given", "3 given");
  for (const GroupCheck& group : groups)
    out += columns((group.mixture_of_experts ? "experts: " : "") + group.group, group.rows, group.shipped_percent,
                   group.given_percent);
  for (const bool mixture : {false, true}) {
    std::size_t rows = 0;
    const std::array<double, 4> all = means(groups, mixture, rows);
    out +=
        columns(mixture ? "all, mixtures of experts" : "all, dense", rows, all[0], std::array{all[1], all[2], all[3]});
  }
  return out;
}

Json step_check_json(const std::vector<GroupCheck>& groups) {
  Json each = Json::array(), all = Json::object();
  for (const GroupCheck& group : groups) {
    Json steps = Json::array();
    for (const CheckedStep& step : group.steps)
      steps.push_back({{"name", step.name}, {"measured_s", step.measured_s}, {"shipped_s", step.shipped_s}});
    each.push_back({{"group", group.group},
                    {"mixture_of_experts", group.mixture_of_experts},
                    {"runs", group.rows},
                    {"shipped_percent", group.shipped_percent},
                    {"given_percent", group.given_percent},
                    {"steps", std::move(steps)}});
  }
  for (const bool mixture : {false, true}) {
    std::size_t rows = 0;
    const std::array<double, 4> mean = means(groups, mixture, rows);
    all[mixture ? "mixture_of_experts" : "dense"] = {{"runs", rows},
                                                     {"shipped_percent", mean[0]},
                                                     {"one_given_percent", mean[1]},
                                                     {"two_given_percent", mean[2]},
                                                     {"three_given_percent", mean[3]}};
  }
  return {{"all", std::move(all)}, {"groups", std::move(each)}};
}

}  // namespace stepcast
