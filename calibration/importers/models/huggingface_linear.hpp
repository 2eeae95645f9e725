#pragma once

#include <string>
#include <vector>

#include "calibration/importers/models/huggingface_halves.hpp"
#include "fields/json_text.hpp"
#include "models/workload/linear_attention.hpp"

namespace stepcast {

/// What a file says of its blocks, or what is wrong with it.
struct LinearBlocks {
  std::string letters;          ///< one a block, G of linear and * of full attention; empty with a fault
  std::vector<std::string> at;  ///< the fault's key within the model, and what is in it
  std::string fault, expected;
};

/// By the ways in which files say it: layer_types, attn_type_list, lists in linear_attn_config (Kimi's),
/// full_attention_interval or layer_group_size.
LinearBlocks blocks_of_linear_attention(const Json& config, LinearAttentionKind kind);

/// Removes what blocks_of_linear_attention goes by, but linear_attn_config, which has sizes, too.
void settle_linear_attention(Json& config);

/// Sizes of linear attention of a kind as a model's shape has them (linear_attention).
Json linear_attention_of(const ReadHalves& into, LinearAttentionKind kind);

}  // namespace stepcast
