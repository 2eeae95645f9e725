#pragma once

#include "calibration/importers/models/huggingface_halves.hpp"

namespace stepcast {

/// Reads attention over entries that stand for several tokens (TransformerShape::compressed_attention) and
/// hyper-connections, as files of type deepseek_v4 say them (configuration_deepseek_v4.py of transformers): ratios by
/// `compress_ratios`, of which the last may be those of prediction blocks, else by `layer_types` and `compress_rates`.
void read_compressed_attention(const ReadHalves& into);

}  // namespace stepcast
