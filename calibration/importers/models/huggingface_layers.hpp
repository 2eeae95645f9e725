#pragma once

#include <string>
#include <vector>

#include "calibration/importers/models/config_reader.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// Puts what files of whole blocks say layer by layer, each type in its way, as the usual keys have it: layer_types,
/// first_k_dense_replace, and num_sliding_attention_heads of layers with a window where those differ from the others.
void usual_layers(Json& config);

/// Looped models go several times through their layers (Universal Transformers, Dehghani et al. 2018, arXiv 1807.03819;
/// `total_ut_steps`): the shape has a layer for each pass, and those share weights.
void loop_layers(ConfigReader& reader, Json& shape, std::vector<std::string>& notes);

}  // namespace stepcast
