#include "calibration/validation/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/validation/statistics.hpp"

namespace stepcast {

namespace {

using RunGroups = std::map<std::string, std::vector<const PredictedRun*>>;

/// Model, sequence and batch in the words of the scenario.
std::string job_of(const PredictedRun& run) {
  const Json& workload = run.run.scenario.at("workload");
  return fmt::format("{} {} {} {}", workload.at("model").dump(), workload.value("seq_len", Json()).dump(),
                     workload.at("global_batch").dump(), run.run.gpus);
}

/// A name for people: model, GPUs, batch.
std::string name_of_group(const PredictedRun& run, bool machine) {
  const Json& workload = run.run.scenario.at("workload");
  const Json& model = workload.at("model");
  return fmt::format("{}{}, {} GPUs, batch {}",
                     model.is_object() ? model.value("id", std::string("model")) : model.get<std::string>(),
                     machine && !run.run.accelerator.empty() ? " on " + run.run.accelerator : "", run.run.gpus,
                     workload.at("global_batch").dump());
}

std::vector<Configuration> configurations_of(const std::vector<const PredictedRun*>& runs) {
  std::map<std::string, std::vector<const PredictedRun*>> by_scenario;
  for (const PredictedRun* run : runs) by_scenario[run->run.scenario.dump()].push_back(run);
  std::vector<Configuration> out;
  for (const auto& [scenario, repeats] : by_scenario) {
    std::vector<double> times;
    for (const PredictedRun* run : repeats) times.push_back(run->measured_step_time().value());
    out.push_back({repeats.front(), repeats.front()->step_time, Seconds(*geometric_mean(times))});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Configuration& a, const Configuration& b) { return a.predicted < b.predicted; });
  return out;
}

/// Where the model ranks several first alike, whoever asks it may get any of them: their mean counts.
double regret_of_group(const std::vector<Configuration>& configurations) {
  double best = configurations.front().measured.value(), chosen = 0;
  std::size_t ties = 0;
  for (const Configuration& one : configurations) {
    best = std::min(best, one.measured.value());
    if (one.predicted > configurations.front().predicted) continue;
    chosen += one.measured.value();
    ++ties;
  }
  return 100 * (chosen / static_cast<double>(ties) / best - 1);
}

std::vector<RankedGroup> ranked(const RunGroups& groups, bool machine) {
  std::vector<RankedGroup> out;
  for (const auto& [key, runs] : groups) {
    RankedGroup group;
    group.configurations = configurations_of(runs);
    if (group.configurations.size() < kSmallestRankedGroup) continue;
    group.name = name_of_group(*runs.front(), machine);
    std::vector<double> predicted, measured;
    for (const Configuration& one : group.configurations) {
      predicted.push_back(one.predicted.value());
      measured.push_back(one.measured.value());
    }
    group.kendall_tau = kendall_tau(predicted, measured);
    group.regret = regret_of_group(group.configurations);
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace

std::vector<RankedGroup> groups_of_one_job(const std::vector<const PredictedRun*>& covered) {
  RunGroups groups;
  for (const PredictedRun* run : covered) groups[job_of(*run)].push_back(run);
  return ranked(groups, false);
}

std::vector<RankedGroup> groups_of_one_machine(const std::vector<const PredictedRun*>& covered) {
  RunGroups groups;
  for (const PredictedRun* run : covered) groups[run->run.group].push_back(run);
  return ranked(groups, true);
}

std::optional<double> tau_of_all(const std::vector<const PredictedRun*>& covered) {
  if (covered.empty()) return std::nullopt;
  const bool one_metric = std::all_of(covered.begin(), covered.end(), [&](const PredictedRun* run) {
    return run->run.metric == covered.front()->run.metric;
  });
  std::vector<double> predicted, measured;
  for (const PredictedRun* run : covered) {
    predicted.push_back(one_metric ? *run->predicted : run->step_time.value());
    measured.push_back(one_metric ? run->run.measured : run->measured_step_time().value());
  }
  return kendall_tau(predicted, measured);
}

std::optional<double> mean_tau(const std::vector<RankedGroup>& groups) {
  std::vector<double> taus;
  for (const RankedGroup& group : groups)
    if (group.kendall_tau) taus.push_back(*group.kendall_tau);
  return mean(taus);
}

std::optional<Regret> regret_of(const std::vector<RankedGroup>& groups) {
  if (groups.empty()) return std::nullopt;
  Regret out;
  for (const RankedGroup& group : groups) {
    out.mean += group.regret / static_cast<double>(groups.size());
    out.worst = std::max(out.worst, group.regret);
  }
  return out;
}

}  // namespace stepcast
