#include "calibration/validation/score.hpp"

#include <algorithm>

#include "calibration/validation/statistics.hpp"

namespace stepcast {

namespace {

using Rows = std::vector<const PredictedRun*>;

Rows covered_of(const Rows& rows) {
  Rows out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out),
               [](const PredictedRun* run) { return run->covered(); });
  return out;
}

template <class Predicate>
Rows where(const Rows& rows, Predicate holds) {
  Rows out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out), holds);
  return out;
}

void score_memory(AccuracyFigures& out, const Rows& covered) {
  std::vector<double> errors;
  for (const PredictedRun* run : covered)
    if (run->run.measured_memory && run->memory)
      errors.push_back(100 * absolute_error(run->memory->value(), run->run.measured_memory->value()));
  out.memory_mape = mean(errors);
  out.memory_max = quantile(errors, 1);
}

AccuracyFigures figures_of(const Rows& rows) {
  const Rows covered = covered_of(rows);
  AccuracyFigures out;
  out.rows = rows.size();
  out.covered = covered.size();
  std::vector<double> errors, ratios, held;
  for (const PredictedRun* run : covered) {
    errors.push_back(run->error());
    ratios.push_back(run->time_ratio());
    held.push_back(run->in_interval() ? 100 : 0);
  }
  set_errors(out, errors, ratios);
  out.in_interval = mean(held);
  out.kendall_tau = tau_of_all(covered);
  out.kendall_tau_within = mean_tau(groups_of_one_job(covered));
  out.regret = regret_of(groups_of_one_machine(covered));
  score_memory(out, covered);
  return out;
}

/// Everything but `runs`, which the rows may belong to.
void score_rows(SetScore& out, const Rows& rows) {
  const Rows sound = where(rows, [](const PredictedRun* run) { return run->run.doubtful.empty(); });
  const Rows covered = covered_of(sound);
  static_cast<AccuracyFigures&>(out) = figures_of(sound);
  set_scaling(out, scaling_score(sound));
  out.scaling = scaling_by_framework(sound);
  out.all = figures_of(rows);
  out.rows = out.all.rows;
  out.covered = out.all.covered;
  out.doubtful = figures_of(where(rows, [](const PredictedRun* run) { return !run->run.doubtful.empty(); }));
  // Of a row that no scenario can say nobody knows whether it states every input.
  out.fully_stated = figures_of(where(
      sound, [](const PredictedRun* run) { return !run->run.scenario.is_null() && run->run.inputs_unstated.empty(); }));
  std::map<std::string, Rows> machines;
  for (const PredictedRun* run : sound) machines[run->run.accelerator].push_back(run);
  for (const auto& [accelerator, of_it] : machines) out.accelerators[accelerator] = figures_of(of_it);
  for (const PredictedRun* run : rows) {
    if (!run->covered()) ++out.reasons[run->reason];
    if (!run->run.doubtful.empty()) ++out.doubts[run->run.doubtful];
  }
  out.groups = groups_of_one_machine(covered);
  out.worst = covered;
  std::stable_sort(out.worst.begin(), out.worst.end(),
                   [](const PredictedRun* a, const PredictedRun* b) { return a->error() > b->error(); });
  if (out.worst.size() > kWorstRows) out.worst.resize(kWorstRows);
}

}  // namespace

SetScore score(const std::string& name, std::vector<PredictedRun> runs) {
  SetScore out;
  out.name = name;
  out.runs = std::move(runs);
  Rows rows;
  for (const PredictedRun& run : out.runs) rows.push_back(&run);
  score_rows(out, rows);
  return out;
}

SetScore total_of(const std::vector<SetScore>& sets) {
  SetScore out;
  out.name = "all sets";
  Rows rows;
  for (const SetScore& set : sets)
    for (const PredictedRun& run : set.runs) rows.push_back(&run);
  score_rows(out, rows);
  return out;
}

}  // namespace stepcast
