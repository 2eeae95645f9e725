#pragma once

#include <string>

#include "calibration/importers/models/config_reader.hpp"
#include "calibration/importers/models/huggingface_types.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// A letter for each block, G of linear and * of full attention, by the ways in which files say it: layer_types,
/// full_attention_interval, attn_type_list, layer_group_size, or lists in linear_attn_config. Empty where none does.
std::string blocks_of_linear_attention(const Json& config);

/// Removes what blocks_of_linear_attention goes by, and lifts the sizes in linear_attn_config to the keys that other
/// types have.
void settle_linear_attention(Json& config);

/// Sizes of linear attention of a kind as a model's shape has them (linear_attention).
Json linear_attention_of(ConfigReader& reader, LinearAttentionKind kind);

}  // namespace stepcast
