#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "calibration/importers/models/megatron_arguments.hpp"

namespace stepcast {

/// A list of whole numbers as a Python expression, `([0,0]+[4,128]*20+[4])`: sums and products of lists. Nothing where
/// it is none, or longer than a model's layers.
std::optional<std::vector<int>> megatron_numbers(std::string_view text);

/// Whether the arguments name DeepSeek-V4's attention (--experimental-attention-variant dsv4_hybrid).
bool has_compressed_attention(MegatronArguments& in);

/// Reads it into a model's shape of so many layers, with defaults of MLATransformerConfig.
void read_compressed_attention(MegatronArguments& in, Json& shape, int layers);

}  // namespace stepcast
