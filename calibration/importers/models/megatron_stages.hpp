#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// How Megatron-LM is told to cut the layers over pipeline stages.
struct MegatronStages {
  int layers = 0, stages = 1, chunks = 1;              ///< chunks: of each stage
  std::optional<int> first, last;                      ///< --decoder-first-pipeline-num-layers, …-last-…
  bool embedding_counts = false, loss_counts = false;  ///< --account-for-…-in-pipeline-split: as a layer
};

/// Layers of each chunk in model order, as `strategy.stage_layers`; empty where they are even. Source:
/// get_num_layers_to_build in megatron/core/transformer/transformer_block.py.
std::vector<int> megatron_stage_layers(const MegatronStages& how, Diagnostics& diagnostics);

/// The same of MindSpeed-LLM's --num-layer-list, `20,20,20,18`: a number for each stage, none of which has chunks.
std::vector<int> megatron_listed_stages(const std::string& list, const MegatronStages& how, Diagnostics& diagnostics);

/// Layers of each chunk in model order where every chunk has as many; a fault where they cannot.
std::vector<int> megatron_even_stages(const MegatronStages& how, Diagnostics& diagnostics);

/// Layers of each chunk by --pipeline-model-parallel-layout, `Et*3|(tt|)*29m|L`: E embedding, t layer, m multi-token
/// prediction, L loss, | between chunks, * repeats a letter or what is in parentheses. Source:
/// megatron/core/transformer/pipeline_parallel_layer_layout.py.
std::vector<int> megatron_layout_layers(const std::string& layout, Diagnostics& diagnostics);

}  // namespace stepcast
