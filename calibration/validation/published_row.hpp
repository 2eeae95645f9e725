#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calibration/validation/csv_table.hpp"
#include "calibration/validation/expert_recipes.hpp"
#include "calibration/validation/measured_run.hpp"
#include "calibration/validation/unstated.hpp"

namespace stepcast {

/// What is fine-tuned, if anything, as a row's notes mark it.
enum class TrainingTask { pre_training, fine_tuning, adapters };

/// Reading one row of published runs of large models: what the parts below share.
struct PublishedRow {
  const CsvRow& row;
  const FrameworkDefaults* defaults = nullptr;
  TrainingTask task = TrainingTask::pre_training;
  const ExpertRecipe* expert_recipe = nullptr;
  bool dispatches_once = false;  ///< by NVIDIA's recipe (expert_recipes.hpp)
  long gpus = 0;                 ///< devices as Stepcast counts them
  long slices = 1;               ///< of a pod that the data-centre network joins
  MeasuredRun out;

  /// The first reason why no scenario can say the row stays.
  void refuse(std::string reason) {
    if (out.refusal.empty()) out.refusal = std::move(reason);
  }
  /// An input that unstated.hpp or settle.hpp fills in.
  void unstated(std::string_view input) { out.inputs_unstated.emplace_back(input); }
  [[nodiscard]] bool notes(std::string_view words) const { return row.text("notes").find(words) != std::string::npos; }
};

TrainingTask task_of(const CsvRow& row);

/// The `workload.model` of a row (published_model.cpp); null after a refusal.
Json published_model(PublishedRow& reading);
/// The `cluster` (published_cluster.cpp); null after a refusal.
Json published_cluster(PublishedRow& reading);
/// `strategy` for a batch (published_strategy.cpp); null after a refusal.
Json published_strategy(PublishedRow& reading, const Json& model, long global_batch);
/// `workload.precision` (published_workload.cpp).
std::string published_precision(PublishedRow& reading);
/// Samples of a step; null after a refusal.
std::optional<long> published_batch(PublishedRow& reading);
/// What was measured (published_figure.cpp), from `model` where the row states TFLOP/s or utilisation alone.
void read_published_figure(PublishedRow& reading, const Json& model);

/// Devices that a row's training ran on, where its table prints a number that the degrees of the same line do not
/// multiply to: their product, for rows of the line without degrees too. Null elsewhere. Of NVIDIA's long sequences of
/// 2025, whose every number is four times the product, 524,288 tokens in batches of 8 could be 0.125 as fast without as
/// with context parallelism on the number printed (tensor parallelism of 8 at most, so 64 stages or fewer samples than
/// replicas) and 0.4 on the product; 0.375 was measured. 1,048,576 tokens in batches of 4 would leave 12 of 16 replicas
/// without a sample.
std::optional<long> contradicted_devices(const CsvRow& row);

/// The shipped table of published runs.
const CsvTable& published_runs();

/// Columns of a mapping that a row leaves blank, as the nearest row of its table states them, else of the shipped one:
/// same model, accelerator and task, and of these the nearest number of GPUs and batch a GPU. Null when no row does.
struct StatedMapping {
  long tensor_parallel = 1, pipeline_parallel = 1, context_parallel = 1;
  std::optional<long> virtual_pipeline, micro_batch;
  std::string sharding;   ///< as the row words it
  std::string recompute;  ///< the same
};
std::optional<StatedMapping> nearest_mapping(const CsvRow& row);

}  // namespace stepcast
