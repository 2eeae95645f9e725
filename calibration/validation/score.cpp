#include "calibration/validation/score.hpp"

#include <algorithm>

#include "calibration/validation/statistics.hpp"

namespace stepcast {

namespace {

std::optional<double> in_percent(std::optional<double> share) {
  if (share) *share *= 100;
  return share;
}

std::optional<double> tau_of(const std::vector<const PredictedRun*>& runs) {
  // Rates and times cannot be ranked together; the metric of most sets is one anyway.
  std::vector<double> predicted, measured;
  for (const PredictedRun* run : runs) {
    if (run->run.metric != runs.front()->run.metric) return std::nullopt;
    predicted.push_back(*run->predicted);
    measured.push_back(run->run.measured);
  }
  return kendall_tau(predicted, measured);
}

std::optional<double> tau_within_groups(const std::vector<const PredictedRun*>& runs) {
  std::map<std::string, std::vector<const PredictedRun*>> groups;
  for (const PredictedRun* run : runs) groups[run->run.group].push_back(run);
  std::vector<double> taus;
  for (const auto& [group, members] : groups)
    if (members.size() >= kSmallestRankedGroup)
      if (const std::optional<double> tau = tau_of(members)) taus.push_back(*tau);
  return mean(taus);
}

void score_times(SetScore& out, const std::vector<const PredictedRun*>& runs) {
  std::vector<double> errors, ratios;
  for (const PredictedRun* run : runs) {
    errors.push_back(run->error());
    ratios.push_back(run->time_ratio());
  }
  out.mape = in_percent(mean(errors));
  out.median = in_percent(quantile(errors, 0.5));
  out.p90 = in_percent(quantile(errors, 0.9));
  out.max = in_percent(quantile(errors, 1));
  if (const std::optional<double> ratio = geometric_mean(ratios)) out.bias = in_percent(*ratio - 1);
  if (!runs.empty()) out.kendall_tau = tau_of(runs);
  out.kendall_tau_within = tau_within_groups(runs);
}

void score_memory(SetScore& out, const std::vector<const PredictedRun*>& runs) {
  std::vector<double> errors;
  for (const PredictedRun* run : runs)
    if (run->run.measured_memory && run->memory)
      errors.push_back(absolute_error(run->memory->value(), run->run.measured_memory->value()));
  out.memory_mape = in_percent(mean(errors));
  out.memory_max = in_percent(quantile(errors, 1));
}

}  // namespace

SetScore score(const std::string& name, std::vector<PredictedRun> runs) {
  SetScore out;
  out.name = name;
  out.rows = runs.size();
  std::vector<const PredictedRun*> covered;
  for (const PredictedRun& run : runs) {
    if (run.covered()) {
      covered.push_back(&run);
    } else {
      ++out.reasons[run.reason];
    }
  }
  out.covered = covered.size();
  score_times(out, covered);
  score_memory(out, covered);
  std::stable_sort(covered.begin(), covered.end(),
                   [](const PredictedRun* a, const PredictedRun* b) { return a->error() > b->error(); });
  for (const PredictedRun* run : covered)
    if (out.worst.size() < kWorstRows) out.worst.push_back(*run);
  return out;
}

}  // namespace stepcast
