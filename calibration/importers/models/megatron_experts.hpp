#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace stepcast {

/// Which layers have experts, as a model's shape says it.
struct ExpertLayers {
  int dense = 0;  ///< first layers without
  int every = 1;  ///< after those, every so many-th layer has them
};

/// A list of 0 and 1 over all layers as a Python expression, `([0]*3+[1]*58)`, `[0,1]*24`, with or without its brackets
/// and commas: a character a layer. Nothing where it is none, or of another length.
std::optional<std::string> megatron_layer_list(std::string_view text, int layers);

/// Letters of scans (M), attention (*) and MLPs (-) where a hybrid's pattern is told by shares of its layers. Source:
/// megatron/core/ssm/mamba_hybrid_layer_allocation.py.
std::string megatron_hybrid_layers(int layers, double attention_share, double mlp_share);

/// --moe-layer-freq: a number, or such a list. Nothing where it is neither, or a list that no such pair says.
/// Source: moe_freq_type in megatron/training/arguments.py. `dense`: first layers that have none whatever it says
/// (MindSpeed-LLM's --first-k-dense-replace, beside which every so many-th layer counts from 0); `noops`: layers among
/// these that are none.
std::optional<ExpertLayers> megatron_expert_layers(std::string_view text, int layers, int dense = 0,
                                                   const std::set<int>& noops = {});

}  // namespace stepcast
