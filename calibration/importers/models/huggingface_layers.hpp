#pragma once

#include "fields/json_text.hpp"

namespace stepcast {

/// Puts what files of whole blocks say layer by layer, each type in its way, as the usual keys have it: layer_types,
/// first_k_dense_replace, and num_sliding_attention_heads of layers with a window where those differ from the others.
void usual_layers(Json& config);

}  // namespace stepcast
