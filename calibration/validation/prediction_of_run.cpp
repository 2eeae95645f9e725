#include "calibration/validation/prediction_of_run.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/validation/statistics.hpp"
#include "calibration/validation/unstated.hpp"
#include "fields/data_directory.hpp"
#include "models/estimate.hpp"
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
Bytes allocated_memory(const Job& job, const MemoryReport& memory) {
  return memory.stages[static_cast<std::size_t>(memory.worst_stage)].total() - library_memory(job);
}

}  // namespace

double PredictedRun::time_ratio() const {
  const double ratio = *predicted / run.measured;
  return run.metric == Metric::step_time ? ratio : 1 / ratio;
}

double PredictedRun::error() const { return absolute_error(*predicted, run.measured); }

PredictedRun predict_run(MeasuredRun run, const Catalog& catalog) {
  PredictedRun out;
  out.reason = run.refusal;
  try {
    if (!run.scenario.is_null()) {
      if (run.micro_batch_unstated) settle_micro_batch(run, catalog);
      const Scenario scenario = resolve(run.scenario, run.id, {}, catalog);
      const Job job = lower(scenario);
      const Prediction prediction = predict(job, estimate(job), Fidelity::analytic, catalog, MemoryAdvice::none);
      out.predicted = figure_of(prediction, run.metric);
      out.memory = allocated_memory(job, prediction.memory);
      out.parts = parts_of(prediction);
    }
  } catch (const InputError& error) {
    out.reason = error.faults().front().pointer + ": " + error.faults().front().message;
  }
  out.run = std::move(run);
  return out;
}

std::filesystem::path run_catalog_directory() { return data_directory("calibration/data/catalog"); }

}  // namespace stepcast
