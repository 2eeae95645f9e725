#include "calibration/validation/prediction_of_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/validation/settle.hpp"
#include "calibration/validation/statistics.hpp"
#include "fields/data_directory.hpp"
#include "fields/in_parallel.hpp"
#include "models/memory/memory.hpp"
#include "models/phases/evaluation_step.hpp"
#include "models/scenario/scenario.hpp"
#include "report/predict.hpp"

namespace stepcast {

namespace {

std::vector<std::pair<std::string, double>> parts_of(const Prediction& prediction) {
  std::vector<std::pair<std::string, double>> parts{
      {"compute", prediction.compute / prediction.step_time},
      {"host", prediction.host / prediction.step_time},
      {"fixed", (prediction.overhead - prediction.host) / prediction.step_time},
      {"bubble", prediction.bubble / prediction.step_time},
      {"waiting", prediction.synchronization_wait / prediction.step_time},
      {"optimizer", prediction.optimizer / prediction.step_time}};
  for (const auto& [dimension, share] : prediction.communication.by_dimension)
    parts.emplace_back(dimension + " traffic", share.exposed / prediction.step_time);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return parts;
}

/// Forward passes of a run's evaluations, of at least one micro-batch a replica each.
Seconds evaluation_time(const MeasuredRun& run, const Catalog& catalog) {
  if (!(run.evaluations > 0)) return Seconds(0);
  const Scenario scenario = resolve(run.scenario, run.id, {}, catalog);
  const Job job = lower(scenario);
  const double batches = std::max(run.samples_an_evaluation / static_cast<double>(scenario.spec.workload.global_batch),
                                  1.0 / static_cast<double>(scenario.degrees.micro_batches));
  return evaluation_step(job, power_model(scenario)).time * (run.evaluations * batches);
}

double figure_of(const Prediction& prediction, const MeasuredRun& run, const Catalog& catalog) {
  switch (run.metric) {
    case Metric::step_time:
      return prediction.step_time.value();
    case Metric::tokens_per_s_per_gpu:
      return prediction.tokens_per_s_per_gpu;
    case Metric::samples_per_s:
      return prediction.samples_per_s;
    case Metric::minutes_to_target:
      break;
  }
  return (prediction.step_time * run.steps_to_target + evaluation_time(run, catalog)).in(60_s);
}

/// The closed form's answer to what several runs may have asked, with the scenario as it was settled.
struct Outcome {
  Json scenario;
  std::optional<Prediction> prediction;
  std::vector<Fault> faults;
};

/// What decides a run's prediction: equal for repeats.
std::string question_of(const MeasuredRun& run) {
  const OpenChoices& open = run.open;
  return fmt::format("{} {:d}{:d}{:d}{:d}{:d}{:d}{:d}", run.scenario.dump(), open.mapping, open.without_context,
                     open.interleaving, open.recompute, open.micro_batch, open.shard_group, open.narrow_attention);
}

Outcome outcome(MeasuredRun run, const Catalog& catalog) {
  if (run.scenario.is_null()) return {};
  try {
    settle(run, catalog);
    const Scenario scenario = resolve(run.scenario, run.id, {}, catalog);
    return {std::move(run.scenario), predict_analytic(scenario, catalog, MemoryAdvice::none, Extent::step), {}};
  } catch (const InputError& error) {
    return {std::move(run.scenario), std::nullopt, error.faults()};
  }
}

Bytes memory_as_counted(const MemoryFootprint& stage, MemoryCount count) {
  switch (count) {
    case MemoryCount::allocated:
      return stage.allocated();
    case MemoryCount::reserved:
      return stage.reserved();
    case MemoryCount::device:
      return stage.total();
  }
  return stage.total();
}

}  // namespace

double PredictedRun::time_ratio() const {
  const double ratio = *predicted / run.measured;
  return is_time(run.metric) ? ratio : 1 / ratio;
}

double PredictedRun::error() const { return absolute_error(*predicted, run.measured); }

bool PredictedRun::in_interval() const { return std::abs(std::log(time_ratio())) <= expected_error.share_80; }

Seconds PredictedRun::measured_step_time() const { return step_time / time_ratio(); }

PredictedRun predicted_run(MeasuredRun run, const Prediction& prediction, const Catalog& catalog) {
  PredictedRun out;
  out.predicted = figure_of(prediction, run, catalog);
  out.step_time = prediction.step_time;
  out.expected_error = prediction.expected_error;
  if (run.measured_memory)
    out.memory = memory_as_counted(prediction.memory.stages[static_cast<std::size_t>(prediction.memory.worst_stage)],
                                   run.memory_count);
  out.parts = parts_of(prediction);
  out.run = std::move(run);
  return out;
}

PredictedRun unpredicted_run(MeasuredRun run, const std::vector<Fault>& faults) {
  PredictedRun out;
  out.reason = faults.empty() ? run.refusal : faults.front().pointer + ": " + faults.front().message;
  out.run = std::move(run);
  return out;
}

PredictedRun predict_run(MeasuredRun run, const Catalog& catalog) {
  return std::move(predict_runs({std::move(run)}, catalog, 1).front());
}

std::vector<PredictedRun> predict_runs(std::vector<MeasuredRun> runs, const Catalog& catalog, int jobs) {
  std::map<std::string, std::size_t> distinct;
  std::vector<std::size_t> outcome_of(runs.size());
  std::vector<const MeasuredRun*> firsts;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto [entry, is_new] = distinct.emplace(question_of(runs[i]), firsts.size());
    if (is_new) firsts.push_back(&runs[i]);
    outcome_of[i] = entry->second;
  }
  std::vector<Outcome> outcomes(firsts.size());
  in_parallel(firsts.size(), jobs, [&](std::size_t i) { outcomes[i] = outcome(*firsts[i], catalog); });
  std::vector<PredictedRun> out(runs.size());
  in_parallel(runs.size(), jobs, [&](std::size_t i) {
    const Outcome& found = outcomes[outcome_of[i]];
    runs[i].scenario = found.scenario;
    out[i] = found.prediction ? predicted_run(std::move(runs[i]), *found.prediction, catalog)
                              : unpredicted_run(std::move(runs[i]), found.faults);
  });
  return out;
}

std::filesystem::path run_catalog_directory() { return data_directory("calibration/data/catalog"); }

}  // namespace stepcast
