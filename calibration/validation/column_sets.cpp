#include "calibration/validation/column_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/validation/adapters.hpp"
#include "calibration/validation/mlperf/mlperf_run.hpp"
#include "calibration/validation/spelling.hpp"

namespace stepcast {

namespace {

/// Columns that only this set has, and how its rows are read.
struct ColumnSet {
  KnownTable table;
  MeasuredRun (*adapt)(const CsvRow& row);
  std::string_view accelerator;  ///< of every row, where no column says it
};

const std::vector<ColumnSet>& column_sets() {
  static const std::vector<ColumnSet> kSets{
      {{"Megatron runs on A100",
        {"gpus", "global_batch", "micro_batch", "hidden", "heads", "layers", "seq_len", "tensor_parallel",
         "data_parallel", "pipeline_parallel", "measured_step_time_ms"},
        {"megatron-a100-single-node", "megatron-a100-multi-node"}},
       megatron_a100_run,
       "a100-sxm-80gb"},
      {{"published Megatron runs",
        {"layers", "hidden", "heads", "vocab", "seq_len", "tensor_parallel", "pipeline_parallel", "interleaved_stages",
         "gpus", "gpu", "global_batch", "micro_batch", "recompute", "sequence_parallel", "metric", "value"},
        {"megatron-published"}},
       published_megatron_run,
       {}},
      {{"FSDP runs",
        {"model", "layers", "hidden", "ffn_hidden", "heads", "vocab", "seq_len", "gpu", "gpus_per_node", "gpus",
         "precision", "sharding", "activation_checkpointing", "micro_batch", "global_batch",
         "measured_tokens_per_s_per_gpu"},
        {"fsdp-runs"}},
       fsdp_run,
       {}},
      {{"runs of cut models on one node",
        {"gpu", "gpus", "model", "layers", "tensor_parallel", "expert_parallel", "context_parallel",
         "pipeline_parallel", "data_parallel", "micro_batches", "micro_batch", "seq_len", "measured_step_time_ms",
         "measured_peak_allocated_gib"},
        {"b200-single-node"}},
       cut_model_run,
       {}},
      {{"published runs of large models",
        {"model", "seq_len", "accelerator_id", "gpus", "gpus_per_node", "network", "framework", "precision", "tp", "pp",
         "vpp", "cp", "ep", "zero_or_fsdp", "micro_batch", "global_batch", "recompute", "tokens_per_s_per_gpu",
         "step_time_s"},
        {"llm-runs-published", "bridge-cards", "public-runs"}},
       published_run,
       {}},
      {{"results of MLPerf Training",
        {"benchmark", "round", "division", "system", "accelerator", "accelerators", "nodes", "minutes",
         "global_batch_size", "framework"},
        {"mlperf-training"}},
       mlperf_run,
       {}},
      {{"published runs of CNNs, encoders and others by framework",
        {"model", "dataset", "framework", "accelerator_id", "gpus", "gpus_per_node", "network", "precision",
         "per_gpu_batch", "global_batch", "sync_mode", "samples_per_s", "unit"},
        {"dl-runs-published", "own-workloads"}},
       deep_learning_run,
       {}},
  };
  return kSets;
}

/// The set that the header has every column of.
const ColumnSet& recognise(const CsvTable& table) {
  for (const ColumnSet& set : column_sets())
    if (is_of(table, set.table)) return set;
  refuse_columns(table);
}

/// What reports and rules say of a row, as far as its adapter has not said it.
void name_run(MeasuredRun& run, const CsvRow& row, const ColumnSet& set) {
  run.line = row.line();
  run.id = row.text("id");
  if (run.id.empty()) run.id = fmt::format("line {}", run.line);
  if (run.source.empty()) run.source = row.text("source");
  if (run.model.empty()) run.model = row.text("model");
  for (const char* column : {"accelerator_id", "gpu"})
    if (run.accelerator.empty()) run.accelerator = row.text(column);
  if (run.accelerator.empty()) run.accelerator = set.accelerator;
  if (run.gpus == 0) run.gpus = static_cast<int>(row.whole("gpus").value_or(0));
}

}  // namespace

std::vector<KnownTable> run_tables() {
  std::vector<KnownTable> out;
  for (const ColumnSet& set : column_sets()) out.push_back(set.table);
  return out;
}

RunSet read_runs(const CsvTable& stated, std::string name) {
  const ColumnSet& set = recognise(stated);
  const CsvTable table = in_shipped_spelling(stated);
  RunSet out{std::move(name), {}};
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    MeasuredRun run = set.adapt(row);
    name_run(run, row, set);
    out.runs.push_back(std::move(run));
  }
  throw_if_faulty(std::move(faults));
  return out;
}

}  // namespace stepcast
