#include "calibration/validation/prediction_of_run.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/validation/parallel.hpp"
#include "calibration/validation/statistics.hpp"
#include "calibration/validation/unstated.hpp"
#include "fields/data_directory.hpp"
#include "models/memory/memory.hpp"
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

double figure_of(const Prediction& prediction, Metric metric) {
  return metric == Metric::step_time ? prediction.step_time.value() : prediction.tokens_per_s_per_gpu;
}

/// What the allocator of the framework sees: everything but what libraries take beside it.
Bytes allocated_memory(const MeasuredRun& run, const MemoryReport& memory, const Catalog& catalog) {
  const Scenario scenario = resolve(run.scenario, run.id, {}, catalog);
  return memory.stages[static_cast<std::size_t>(memory.worst_stage)].total() - library_memory(lower(scenario));
}

}  // namespace

double PredictedRun::time_ratio() const {
  const double ratio = *predicted / run.measured;
  return run.metric == Metric::step_time ? ratio : 1 / ratio;
}

double PredictedRun::error() const { return absolute_error(*predicted, run.measured); }

Seconds PredictedRun::measured_step_time() const { return step_time / time_ratio(); }

PredictedRun predicted_run(MeasuredRun run, const Prediction& prediction, const Catalog& catalog) {
  PredictedRun out;
  out.predicted = figure_of(prediction, run.metric);
  out.step_time = prediction.step_time;
  if (run.measured_memory) out.memory = allocated_memory(run, prediction.memory, catalog);
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
  if (run.scenario.is_null()) return unpredicted_run(std::move(run), {});
  try {
    if (run.micro_batch_unstated) settle_micro_batch(run, catalog);
    const Scenario scenario = resolve(run.scenario, run.id, {}, catalog);
    const Prediction prediction = predict_analytic(scenario, catalog, MemoryAdvice::none);
    return predicted_run(std::move(run), prediction, catalog);
  } catch (const InputError& error) {
    return unpredicted_run(std::move(run), error.faults());
  }
}

std::vector<PredictedRun> predict_runs(std::vector<MeasuredRun> runs, const Catalog& catalog, int jobs) {
  std::vector<PredictedRun> out(runs.size());
  in_parallel(runs.size(), jobs, [&](std::size_t i) { out[i] = predict_run(std::move(runs[i]), catalog); });
  return out;
}

std::filesystem::path run_catalog_directory() { return data_directory("calibration/data/catalog"); }

}  // namespace stepcast
