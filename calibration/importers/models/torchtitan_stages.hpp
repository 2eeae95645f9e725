#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// How torchtitan is told to cut a model over the ranks of a pipeline.
struct TorchtitanPipeline {
  int layers = 0, ranks = 1;
  std::string schedule;                 ///< pipeline_parallel_schedule as the file writes it; empty: 1F1B
  std::optional<int> layers_per_stage;  ///< pipeline_parallel_layers_per_stage
  int first_less = 1, last_less = 1;    ///< layers that the embedding and the output count as
};

/// What strategy.schedule, virtual_pipeline and stage_layers say of it.
struct TorchtitanStages {
  std::string schedule;     ///< ours
  int parts = 1;            ///< of a rank, as strategy.virtual_pipeline has them
  std::vector<int> layers;  ///< of each part in model order; empty where the model's are not known
  std::vector<std::string> notes;
};

/// Stages as torchtitan makes them where the file does not list their modules: the layers, and what embedding and
/// output count as, are spread evenly over the parts, the first ones take one more. Schedules of several parts a rank
/// have two, or as many as layers_per_stage makes. Our interleaved-1f1b takes whole rounds of micro-batches over the
/// ranks; with others a rank's parts are one stage of 1f1b. Source: torchtitan/distributed/pipeline_parallel.py,
/// pipeline_llm and generate_llm_fqn_per_model_part.
TorchtitanStages torchtitan_stages(const TorchtitanPipeline& how, long micro_batches, Diagnostics& diagnostics);

}  // namespace stepcast
